// What a sandbox can leave in its working directory that runs on the host afterwards, without anybody starting it: git
// settings that name programs, hooks, tasks of editors, settings of agents. Compared before and after; changes nothing.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join, relative, resolve } from 'node:path';
import { ownPath } from '../kit/own-path.ts';
import { escapeUnseen } from '../kit/unseen.ts';
import { gitModules, hasTooManyModules } from './git-modules.ts';
import { type HostFiles, hostFiles } from './host-files.ts';

export interface HostTraps {
  /** By path below the working directory: a digest of the content. */
  readonly files: ReadonlyMap<string, string>;
  /** `key=value` of every setting of git that is not known to be harmless. */
  readonly settings: ReadonlySet<string>;
  /** False: a bound was reached before everything was seen. */
  readonly complete: boolean;
}

const maxBytes = 1024 * 1024;
const gitTimeoutMs = 2000;

/** Parts of a git folder that lead git elsewhere, beside its settings. */
const watchedInGit = ['commondir', 'info/attributes', 'info/grafts', 'objects/info/alternates'];

/** What programs act on when somebody enters or opens the folder it lies in, wherever that is. */
const actedOn =
  /(?:^|\/)(?:sallyport\.yaml|\.envrc|\.?mise(?:\.[\w.-]+)?\.toml|\.tool-versions|\.gitmodules|\.git|\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.cjs|\.pnp\.cjs|[^/]+\.code-workspace|\.nvim\.lua|\.nvimrc|\.exrc|\.vimrc|\.gdbinit|\.lldbinit|\.mcp\.json|opencode\.jsonc?|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.devcontainer\.json|(?:\.vscode|\.zed|\.claude|\.cursor|\.opencode|\.gemini|\.codex|\.idea|\.mise|\.husky|\.devcontainer|\.mvn|\.cargo)\/.+)$/;

/** Written by programs; too large to look through before each start. */
const skipped = new Set(['node_modules', '.git', '.hg', '.svn', '__pycache__', '.tox', '.venv', 'venv', 'target']);
const maxEntries = 100_000;
const maxMs = 250;

interface Walk {
  readonly names: readonly string[];
  readonly repositories: readonly string[];
  readonly complete: boolean;
}

/** Breadth first and without following links: what lies near the top is seen whatever the bound. */
function walk(root: string, host: HostFiles): Walk {
  const names: string[] = [];
  const repositories: string[] = [];
  const folders = [''];
  const deadline = performance.now() + maxMs;
  const asRoot = process.getuid?.() === 0;
  let seen = 0;
  for (const folder of folders) {
    if (seen > maxEntries || performance.now() > deadline) return { names, repositories, complete: false };
    const entries = host.list(join(root, folder));
    const has = new Set(entries.map(({ name }) => name));
    // Git takes such a folder for a repository, whatever it is called.
    if (has.has('HEAD') && has.has('objects') && has.has('refs')) repositories.push(folder);
    for (const { name, kind } of entries) {
      seen++;
      const path = join(folder, name);
      if (kind === 'folder' && name === '.git') repositories.push(path);
      if (kind === 'folder' && !skipped.has(name)) folders.push(path);
      if (actedOn.test(path) && (kind !== 'folder' || name === '.git')) names.push(path);
      else if (asRoot && kind === 'file' && ((host.look(join(root, path))?.mode ?? 0) & 0o6000) !== 0) names.push(path);
    }
  }
  return { names, repositories, complete: true };
}

export async function snapshotHostTraps(workingDirectory: string, host: HostFiles = hostFiles): Promise<HostTraps> {
  const tree = walk(workingDirectory, host);
  const gits = [
    ...tree.repositories.map((folder) => join(workingDirectory, folder)),
    ...gitFolders(workingDirectory, host),
  ].flatMap((folder) => [folder, ...gitModules(folder, host)]);
  const folders = [...new Set(gits)];
  const names = [
    ...tree.names,
    ...folders.flatMap((folder) => {
      const below = relative(workingDirectory, folder);
      const hooks = host.list(join(folder, 'hooks')).map((entry) => join(below, 'hooks', entry.name));
      return [...watchedInGit.map((name) => join(below, name)), ...hooks];
    }),
  ];
  const files = new Map<string, string>();
  for (const name of names) {
    const seen = describe(join(workingDirectory, name), host);
    if (seen !== null) files.set(name, seen);
  }
  return {
    files,
    settings: new Set(await gitSettings(folders, host)),
    complete: tree.complete && !folders.some((folder) => hasTooManyModules(folder, host)),
  };
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
  if (!before.complete || !after.complete)
    found.push(
      'the folder, or the submodules in it, are too many: not all was searched for what programs on this host act on.',
    );
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
  return `${facts.mode & 0o6111} ${createHash('sha256').update(text).digest('hex')}`;
}

async function gitSettings(folders: readonly string[], host: HostFiles): Promise<string[]> {
  const files = folders.flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')]);
  const listed = await Promise.all(
    files.filter((file) => host.look(file) !== null).map((file) => listSettings(file, host)),
  );
  return listed.flat().filter((setting) => isTrap(setting));
}

/** The repository's own folder and, of a worktree, the one it shares with others. */
function gitFolders(workingDirectory: string, host: HostFiles): string[] {
  const pointer = join(workingDirectory, '.git');
  if (host.look(pointer)?.kind !== 'file') return [pointer];
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

/** The short list of what only says how a repository is kept. Whatever is not on it is named, never the other way round. */
const harmless =
  /^(?:core\.(?:repositoryformatversion=[01]|(?:filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)=(?:true|false))|user\.(?:name|email)=.*|branch\.[^=]+\.(?:remote=\w[\w-]*|merge=refs\/heads\/[^=]+)|remote\.[^=]+\.fetch=\+?refs\/heads\/[^=]*:refs\/remotes\/[^=]*|submodule\.[^=]+\.active=true)$/i;

function isTrap(setting: string): boolean {
  return !harmless.test(setting);
}

/** It came out of the sandbox: nothing in it may drive the terminal. */
function printable(text: string): string {
  const cut = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return escapeUnseen(JSON.stringify(cut).slice(1, -1));
}
