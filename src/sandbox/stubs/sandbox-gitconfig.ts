// Git inside a sandbox: a system configuration that keeps it tame (no hooks, no helpers, https alone) and rewrites ssh and
// git URLs to https, and the environment that a repository's own configuration cannot win against. It guards a person or
// an agent against a repository they cloned; it never stands for the door, since whoever runs git may set it aside.

/** What a launcher knows about the sandbox it starts. */
export interface SandboxGitOptions {
  /** Where the sandbox sees the files of `sandboxGitFiles`: an absolute path that it cannot write to. */
  readonly directory: string;
  /** Hosts whose ssh, git and http URLs become https: github.com, `github.hosts` and `git.hosts` of the policy. */
  readonly hosts: readonly string[];
  /** git-lfs is installed in the sandbox. Where it is not, its filters would make every checkout with LFS files fail. */
  readonly lfs: boolean;
  /** Directories that may belong to another user, such as a mounted workspace; without them git refuses to work there. */
  readonly safeDirectories?: readonly string[];
  /** False: it cannot write `.git/config`, so git is told not to. */
  readonly keepsUpstreams?: boolean;
  /** Patterns of what nobody in the sandbox is to commit: what keeps the place of a file while it runs. */
  readonly ignored?: readonly string[];
}

export interface SandboxGitFile {
  /** Below `directory`. */
  readonly name: string;
  readonly mode: number;
  readonly text: string;
}

type Setting = readonly [key: string, value: string];

/** The variable of the launcher's own environment that turns URL rewriting off for the sandboxes it starts. */
export const rewriteSwitch = 'SALLYPORT_GIT_REWRITE';

/** Everything a launcher lays down in `directory`. */
export function sandboxGitFiles(options: SandboxGitOptions): readonly SandboxGitFile[] {
  const ignored = (options.ignored ?? []).map((pattern) => `${pattern}\n`).join('');
  const whole = [tameName, rewriteName].map((name): Setting => ['include.path', `${options.directory}/${name}`]);
  return [
    { name: wholeName, mode: 0o444, text: render('What git in this sandbox reads first.', whole) },
    { name: tameName, mode: 0o444, text: renderSandboxGitconfig(options) },
    { name: rewriteName, mode: 0o444, text: renderUrlRewrites(options.hosts) },
    { name: `${hooksName}/pre-push`, mode: 0o555, text: lfsPrePush },
    ...(ignored === '' ? [] : [{ name: ignoreName, mode: 0o444, text: ignored }]),
  ];
}

/** The settings that keep git tame, without the rewriting of URLs. */
export function renderSandboxGitconfig(options: SandboxGitOptions): string {
  return render('Keeps git in this sandbox tame. Without the rewriting of URLs: GIT_CONFIG_SYSTEM=this file.', [
    ...pinned(options.directory),
    // The first match wins and this file is read first, so no repository can name another.
    ['core.gitProxy', 'none'],
    // Known from git 2.47 on; GIT_TERMINAL_PROMPT says the same to all.
    ['credential.interactive', 'false'],
    ['submodule.recurse', 'false'],
    // Debian's git with GnuTLS sometimes never ends an upload of unknown length over HTTP/2, whatever is at the other end.
    ['http.version', 'HTTP/1.1'],
    // Without an upstream `git push` pushes to the branch of the same name; a repository's own choice wins over this.
    ...(options.keepsUpstreams === false ? [['push.default', 'current'] as const] : []),
    ...(options.safeDirectories ?? []).map((path): Setting => ['safe.directory', path]),
    ...((options.ignored ?? []).length === 0
      ? []
      : [['core.excludesFile', `${options.directory}/${ignoreName}`] as const]),
    ...(options.lfs ? lfsFilter : []),
  ]);
}

/** `url.<https>.insteadOf` for every spelling of a host that git would not reach through the door. */
export function renderUrlRewrites(hosts: readonly string[]): string {
  const settings = hosts.flatMap((host) => {
    // A name goes into the file between quotes; what is no host name could end them.
    if (!/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(host))
      throw new Error(`${JSON.stringify(host)} is not a host name: URLs are rewritten for plain lower-case names only`);
    return spellings.map((spelling): Setting => [`url.https://${host}/.insteadOf`, spelling.replace('HOST', host)]);
  });
  return render('Leads ssh, git and http URLs through the door as https.', settings);
}

/** For the sandbox's environment. Settings given here win over .git/config; the file alone does not. */
export function sandboxGitEnvironment(
  options: Pick<SandboxGitOptions, 'directory' | 'keepsUpstreams'> & { readonly rewriteUrls?: boolean },
): Record<string, string> {
  // Else `git checkout -b x origin/x` would complain that it cannot note where the branch came from.
  const noUpstreams: readonly Setting[] = options.keepsUpstreams === false ? [['branch.autoSetupMerge', 'false']] : [];
  const pins = [...pinned(options.directory), ...noUpstreams];
  const file = options.rewriteUrls === false ? tameName : wholeName;
  return {
    GIT_CONFIG_SYSTEM: `${options.directory}/${file}`,
    GIT_CONFIG_COUNT: String(pins.length),
    ...Object.fromEntries(
      pins.flatMap(([key, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
    // The door puts the credential in: a question for one could only hang, or ask a person for a secret in the wrong place.
    GIT_TERMINAL_PROMPT: '0',
  };
}

/** Whether the operator wants URLs rewritten in the sandboxes to come. */
export function wantsUrlRewriting(environment: Readonly<Record<string, string | undefined>>): boolean {
  const value = environment[rewriteSwitch] ?? 'on';
  if (value === 'on' || value === 'off') return value === 'on';
  throw new Error(`${rewriteSwitch} is ${JSON.stringify(value)}: set it to on or off, or leave it out`);
}

const wholeName = 'gitconfig';
const tameName = 'tame.gitconfig';
const rewriteName = 'rewrite-urls.gitconfig';
const hooksName = 'hooks';
const ignoreName = 'ignore';

/** What no repository may turn back on: in the file for every git, and in the environment so that it wins. */
function pinned(directory: string): readonly Setting[] {
  if (!directory.startsWith('/')) throw new Error(`${JSON.stringify(directory)} is not an absolute path`);
  return [
    // Not /dev/null: git-lfs uploads its objects from the pre-push hook, and without it pushes commits without them.
    ['core.hooksPath', `${directory}/${hooksName}`],
    ['core.fsmonitor', 'false'],
    // Runs in place of ssh and ends with an error.
    ['core.sshCommand', 'false'],
    // Empty is not unset: SSH_ASKPASS is not asked either.
    ['core.askPass', ''],
    // Asked for the refs of a repository whose objects are borrowed. None is a right answer, it only costs bytes.
    ['core.alternateRefsCommand', 'true'],
    // An empty value forgets every helper named before it, also those of one URL.
    ['credential.helper', ''],
    // By name too: a repository's protocol.ext.allow would win over protocol.allow, wherever that stands.
    ['protocol.allow', 'never'],
    ...['ext', 'ftp', 'ftps', 'git', 'http', 'ssh'].map((name): Setting => [`protocol.${name}.allow`, 'never']),
    ['protocol.https.allow', 'always'],
    // For clones that the user asks for; not for a submodule's URL, which the repository chose (CVE-2022-39253).
    ['protocol.file.allow', 'user'],
    // What git takes when nothing is set. The first stands for gpg.program too: the two are one setting, and the last wins.
    ['gpg.openpgp.program', 'gpg'],
    ['gpg.x509.program', 'gpgsm'],
    ['gpg.ssh.program', 'ssh-keygen'],
  ];
}

const spellings = [
  'git@HOST:',
  'HOST:',
  'ssh://git@HOST/',
  'ssh://git@HOST:22/',
  'ssh://HOST/',
  'git+ssh://git@HOST/',
  'git://HOST/',
  'http://HOST/',
];

/** What `git lfs install --system --skip-repo` writes. */
const lfsFilter: readonly Setting[] = [
  ['filter.lfs.clean', 'git-lfs clean -- %f'],
  ['filter.lfs.smudge', 'git-lfs smudge -- %f'],
  ['filter.lfs.process', 'git-lfs filter-process'],
  ['filter.lfs.required', 'true'],
];

const lfsPrePush = `#!/bin/sh
# The only hook of this sandbox: uploads the objects of Git LFS before the commits that name them.
# A repository that never used LFS has no such folder, and its pushes ask no LFS server.
[ -d "$(git rev-parse --git-common-dir)/lfs" ] || exit 0
command -v git-lfs >/dev/null 2>&1 || exit 0
exec git-lfs pre-push "$@"
`;

function render(title: string, settings: readonly Setting[]): string {
  const lines = [`# ${title} Made by Sallyport.`];
  let section = '';
  for (const [key, value] of settings) {
    const header = sectionOf(key);
    if (header !== section) lines.push(header);
    section = header;
    lines.push(`\t${key.slice(key.lastIndexOf('.') + 1)} = ${quote(value)}`);
  }
  return `${lines.join('\n')}\n`;
}

/** `[core]`, `[protocol "ext"]`: what stands between the first and the last dot is the subsection. */
function sectionOf(key: string): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  const name = key.slice(0, first);
  return first === last ? `[${name}]` : `[${name} ${quote(key.slice(first + 1, last))}]`;
}

/** As git reads it back: without the quotes `#` and `;` would begin a comment. */
function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`;
}
