// What a sandbox can leave in its working directory that runs on the host afterwards, without anybody starting it: git
// settings that name programs, hooks, tasks of editors, settings of agents. Compared before and after; changes nothing.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join, relative, resolve } from 'node:path';
import { ownPath } from '../kit/own-path.ts';
import { escapeUnseen } from '../kit/unseen.ts';
import { gitModules } from './git-modules.ts';
import { type HostFiles, hostFiles } from './host-files.ts';

export interface HostTraps {
  /** By path below the working directory: a digest of the content. */
  readonly files: ReadonlyMap<string, string>;
  /** `key=value` of every setting by which git runs a program or goes somewhere else. */
  readonly settings: ReadonlySet<string>;
}

const maxBytes = 1024 * 1024;
const gitTimeoutMs = 2000;

/** Files that programs on the host act on by themselves when somebody enters or opens the folder. */
const watched: readonly string[] = [
  ...[
    'sallyport.yaml',
    '.envrc',
    '.mise.toml',
    'mise.toml',
    '.gitmodules',
    '.git',
    '.npmrc',
    '.yarnrc.yml',
    '.pnpmfile.cjs',
  ],
  ...[
    '.vscode/tasks.json',
    '.vscode/settings.json',
    '.vscode/launch.json',
    '.devcontainer/devcontainer.json',
    '.devcontainer.json',
  ],
  ...['.claude/settings.json', '.claude/settings.local.json', '.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json'],
  ...['.gemini/settings.json', '.codex/config.toml', 'opencode.json', '.pre-commit-config.yaml', 'lefthook.yml'],
];
const watchedFolders = ['.git/hooks', '.husky', '.claude/hooks', '.idea/runConfigurations'];

export async function snapshotHostTraps(workingDirectory: string, host: HostFiles = hostFiles): Promise<HostTraps> {
  const modules = gitModules(join(workingDirectory, '.git'), host);
  const hooks = modules.map((folder) => join(relative(workingDirectory, folder), 'hooks'));
  const names = [
    ...watched,
    ...[...watchedFolders, ...hooks].flatMap((folder) =>
      host.list(join(workingDirectory, folder)).map((entry) => join(folder, entry.name)),
    ),
  ];
  const files = new Map<string, string>();
  for (const name of names) {
    const seen = describe(join(workingDirectory, name), host);
    if (seen !== null) files.set(name, seen);
  }
  return { files, settings: new Set(await gitSettings(workingDirectory, host)) };
}

/** In words for the user; empty: nothing to look at. */
export function reviewHostTraps(before: HostTraps, after: HostTraps): string[] {
  const found: string[] = [];
  const settings = [...after.settings].filter((setting) => !before.settings.has(setting));
  for (const setting of settings)
    found.push(`git: the sandbox set ${printable(setting)} in this repository; git on this host would follow it.`);
  for (const [name, seen] of after.files) {
    const earlier = before.files.get(name);
    if (earlier === seen) continue;
    found.push(
      `${printable(name)} was ${earlier === undefined ? 'made' : 'changed'}; programs on this host act on it.`,
    );
  }
  return found.length === 0
    ? []
    : [...found, 'Look at these before you use git, an editor or an agent here on the host.'];
}

function describe(path: string, host: HostFiles): string | null {
  const facts = host.look(path);
  if (facts === null) return null;
  if (facts.kind === 'link') return `link ${host.readLink(path)}`;
  if (facts.kind !== 'file') return facts.kind;
  const text = host.readText(path, maxBytes) ?? '';
  return `${facts.mode & 0o111} ${createHash('sha256').update(text).digest('hex')}`;
}

async function gitSettings(workingDirectory: string, host: HostFiles): Promise<string[]> {
  const folders = gitFolders(workingDirectory, host);
  const files = folders.flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')]);
  const listed = await Promise.all(
    files.filter((file) => host.look(file) !== null).map((file) => listSettings(file, host)),
  );
  return listed.flat().filter((setting) => isTrap(setting));
}

/** The repository's own folder and, of a worktree, the one it shares with others. */
function gitFolders(workingDirectory: string, host: HostFiles): string[] {
  const pointer = join(workingDirectory, '.git');
  if (host.look(pointer)?.kind !== 'file') return [pointer, ...gitModules(pointer, host)];
  const named = /^gitdir: (.+?)\s*$/.exec(host.readText(pointer, 4096) ?? '')?.[1];
  if (named === undefined) return [];
  const folder = resolve(workingDirectory, named);
  const common = host.readText(join(folder, 'commondir'), 4096)?.trim();
  return common === undefined ? [folder] : [folder, resolve(folder, common)];
}

/** As git itself reads the file, and nothing that it includes. */
function listSettings(file: string, host: HostFiles): Promise<string[]> {
  // A file that is no plain file, or too large, is told as it is: nobody wrote that by hand.
  if (host.look(file)?.kind !== 'file') return Promise.resolve([`include.path=${file}`]);
  const args = ['config', '--file', file, '--no-includes', '--null', '--list'];
  const options = {
    cwd: '/',
    env: { PATH: ownPath(), GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' },
    timeout: gitTimeoutMs,
    maxBuffer: 4 * maxBytes,
  };
  return new Promise((done) => {
    execFile('git', args, options, (error, stdout) => {
      const missing = error !== null && 'code' in error && error.code === 'ENOENT';
      // Without git on the host nothing here can act; a file that git cannot read is worth a look.
      if (error !== null) return done(missing ? [] : [`include.path=${file} (git cannot read it)`]);
      done(
        stdout
          .split('\0')
          .filter(Boolean)
          .map((entry) => entry.replace('\n', '=')),
      );
    });
  });
}

/** Settings by which git runs a program, reads another file of settings, or goes elsewhere with the user's login. */
const runs =
  /^(?:core\.(?:fsmonitor|sshcommand|hookspath|editor|pager|gitproxy|askpass|alternaterefscommand|worktree|attributesfile)|sequence\.editor|pager\..+|credential\.(?:.+\.)?helper|diff\.external|diff\..+\.(?:command|textconv)|(?:diff|merge)tool\..+|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)|gpg\.(?:.+\.)?program|gpg\.ssh\.defaultkeycommand|include\.path|includeif\..+\.path|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack|vcs|proxy|pushurl)|url\..+\.(?:push)?insteadof|protocol\..*allow|submodule\..+\.update|interactive\.difffilter|trailer\..+\.(?:cmd|command)|(?:browser|man|guitool)\..+\.(?:cmd|path)|tar\..+\.command|http\.(?:.+\.)?(?:proxy|sslverify|sslcainfo|extraheader|cookiefile)|sendemail\..+|maintenance\..+|extensions\.worktreeconfig)=/i;

function isTrap(setting: string): boolean {
  // An alias runs a program only when it begins with an exclamation mark.
  return runs.test(setting) || /^alias\.[^=]+=!/i.test(setting);
}

/** It came out of the sandbox: nothing in it may drive the terminal. */
function printable(text: string): string {
  const cut = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return escapeUnseen(JSON.stringify(cut).slice(1, -1));
}
