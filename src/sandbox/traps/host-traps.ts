// What a sandbox can leave in a folder that runs on the host afterwards, without anybody starting it: settings of git and what
// leads git elsewhere, tasks of editors, settings of agents. A snapshot before and one after are compared (trap-review.ts).
import { createHash } from 'node:crypto';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { configFileName, isStandInConfig } from '../../policy/load/config-places.ts';
import { type HostFiles, hostFiles } from '../files/host-files.ts';
import { liesIn } from '../files/path-relations.ts';
import { ownCommonFolder } from './git-guards.ts';
import { gitlinksIn } from './git-index.ts';
import { gitModules, hasTooManyModules, looksLikeGitFolder } from './git-modules.ts';
import { wordsInSettings } from './git-settings.ts';

export interface HostTraps {
  readonly folder: string;
  /** By path below the folder: a digest of the content. */
  readonly files: ReadonlyMap<string, string>;
  /** The text of every file with settings of git; null: it cannot be read as a plain file. */
  readonly settings: ReadonlyMap<string, string | null>;
  /** Git folders, by path below the folder. */
  readonly repositories: ReadonlySet<string>;
  /** By git folder: paths that stand for another repository; null: the index cannot be read. */
  readonly gitlinks: ReadonlyMap<string, readonly string[] | null>;
  /** Files of the folder that settings of git name, such as hooks. */
  readonly named: ReadonlySet<string>;
  /** Of files and repositories: nobody looked there before. */
  readonly unsure: ReadonlySet<string>;
  /** False: a bound was reached before everything was seen. */
  readonly complete: boolean;
  /** False: the same of folders that are only searched for repositories, and only afterwards. */
  readonly completeBelow: boolean;
  readonly takenAtMs: number;
}

const maxBytes = 1024 * 1024;

/** What programs act on when somebody enters or opens the folder it lies in, wherever that is. */
const actedOn =
  /(?:^|\/)(?:sallyport\.yaml|\.envrc|\.?mise(?:\.[\w.-]+)?\.toml|\.tool-versions|\.gitmodules|\.git|\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.cjs|\.pnp\.cjs|[^/]+\.code-workspace|\.nvim\.lua|\.nvimrc|\.exrc|\.vimrc|\.gdbinit|\.lldbinit|\.mcp\.json|opencode\.jsonc?|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.devcontainer\.json|(?:\.vscode|\.zed|\.claude|\.cursor|\.opencode|\.gemini|\.codex|\.idea|\.mise|\.husky|\.devcontainer|\.mvn|\.cargo)\/.+)$/;

/** Written by programs; too large to look through before each start. */
const skipped = new Set(['node_modules', '__pycache__', '.tox', '.venv', 'venv', 'target', '.cache']);
const neverEntered = new Set(['.git', '.hg', '.svn']);
const maxEntries = 100_000;
const maxMs = 250;
const maxMsBelow = 3000;
/** Others have work to do in this process. */
const turnMs = 20;
const maxHooks = 200;
/** The clock of files is a little behind. */
const clockSlackMs = 100;

interface Walk {
  readonly names: string[];
  readonly repositories: string[];
  /** Folders that were not entered. */
  readonly left: string[];
  readonly complete: boolean;
}

/** Breadth first and without following links: what lies near the top is seen whatever the bound. */
function walk(root: string, host: HostFiles, asRoot: boolean): Walk {
  const found: Omit<Walk, 'complete'> = { names: [], repositories: [], left: [] };
  const folders = [''];
  const deadline = performance.now() + maxMs;
  let seen = 0;
  for (const folder of folders) {
    if (seen > maxEntries || performance.now() > deadline) return { ...found, complete: false };
    const entries = host.list(join(root, folder));
    if (looksLikeGitFolder(entries)) found.repositories.push(folder);
    for (const { name, kind } of entries) {
      seen++;
      const path = join(folder, name);
      if (kind === 'folder' && name === '.git') found.repositories.push(path);
      if (kind === 'folder' && skipped.has(name)) found.left.push(path);
      else if (kind === 'folder' && !neverEntered.has(name)) folders.push(path);
      if (name === configFileName && isStandInConfig(join(root, path))) continue;
      if (actedOn.test(path) && (kind !== 'folder' || name === '.git')) found.names.push(path);
      else if (kind === 'device' || (asRoot && kind === 'file' && isSetuid(join(root, path), host)))
        found.names.push(path);
    }
  }
  return { ...found, complete: true };
}

/** In folders that were left out: repositories, and for root setuid files, that changed since. */
async function walkBelow(
  root: string,
  left: readonly string[],
  since: number,
  host: HostFiles,
  asRoot: boolean,
): Promise<Walk> {
  const found: Omit<Walk, 'complete'> = { names: [], repositories: [], left: [] };
  const deadline = performance.now() + maxMsBelow;
  const isNew = (path: string): boolean => (host.look(join(root, path))?.changedMs ?? since) >= since;
  const folders = [...left];
  let turn = performance.now() + turnMs;
  for (const folder of folders) {
    if (performance.now() > deadline) return { ...found, complete: false };
    if (performance.now() > turn) {
      await new Promise(setImmediate);
      turn = performance.now() + turnMs;
    }
    const entries = host.list(join(root, folder));
    if (looksLikeGitFolder(entries) && (isNew(folder) || isNew(join(folder, 'config'))))
      found.repositories.push(folder);
    for (const { name, kind } of entries) {
      const path = join(folder, name);
      if (name === '.git' && kind !== 'file' && (isNew(path) || isNew(join(path, 'config'))))
        found.repositories.push(path);
      if (name === '.git' && isNew(path)) found.names.push(path);
      else if (asRoot && kind === 'file' && isSetuid(join(root, path), host) && isNew(path)) found.names.push(path);
      if (kind === 'folder' && !neverEntered.has(name)) folders.push(path);
    }
  }
  return { ...found, complete: true };
}

function isSetuid(path: string, host: HostFiles): boolean {
  return ((host.look(path)?.mode ?? 0) & 0o6000) !== 0;
}

export interface SnapshotOptions {
  readonly host?: HostFiles;
  /** The snapshot that this one is compared with. */
  readonly before?: HostTraps;
  readonly asRoot?: boolean;
}

export async function snapshotHostTraps(folder: string, options: SnapshotOptions = {}): Promise<HostTraps> {
  const { host = hostFiles, before, asRoot = process.getuid?.() === 0 } = options;
  const takenAtMs = Date.now();
  const tree = walk(folder, host, asRoot);
  const since = (before?.takenAtMs ?? 0) - clockSlackMs;
  const below = before === undefined ? null : await walkBelow(folder, tree.left, since, host, asRoot);
  const at = (name: string): string => join(folder, name);
  const tops = [...tree.repositories, ...(below?.repositories ?? [])]
    .map((name) => ({ git: at(name), root: join(at(name), '..') }))
    .concat(ownFolders(folder, host).map((git) => ({ git, root: folder })));
  const indexes = tops.map((top) => ({ ...top, links: gitlinksIn(top.git) }));
  // A gitlink may lead where nobody looked.
  const linked = indexes.flatMap(({ root, links }) => (links ?? []).map((link) => join(root, link, '.git')));
  const repositories = [...new Set([...tops.map(({ git }) => git), ...linked.filter((git) => liesIn(git, folder))])]
    .filter((git) => host.look(git)?.kind === 'folder')
    .flatMap((git) => [git, ...gitModules(git, host)]);
  const traces = [...new Set(repositories)].map((git) => ({ git, ...gitTraces(git, host) }));
  const inGit = traces.flatMap(({ git, names }) => names.map((name) => relative(folder, join(git, name))));

  const settings = new Map<string, string | null>();
  for (const name of inGit.filter((path) => isSettings(path))) settings.set(name, readWhole(at(name), host));
  const named = before?.named ?? namedFiles(folder, settings, host);
  const files = new Map<string, string>();
  for (const name of [...tree.names, ...(below?.names ?? []), ...inGit, ...named]) {
    const seen = describe(at(name), host);
    // Settings are compared one by one. If their file is a link, that is reported as for any other file.
    if (seen !== null && (!isSettings(name) || seen.startsWith('link '))) files.set(name, seen);
  }
  return {
    folder,
    files,
    settings,
    repositories: new Set(repositories.map((git) => relative(folder, git))),
    gitlinks: new Map(indexes.map(({ git, links }) => [relative(folder, git), links])),
    named,
    unsure: new Set([...(below?.names ?? []), ...(below?.repositories ?? [])]),
    complete: tree.complete && traces.every(({ git, complete }) => complete && !hasTooManyModules(git, host)),
    completeBelow: below?.complete ?? true,
    takenAtMs,
  };
}

function isSettings(path: string): boolean {
  return /(?:^|\/)config(?:\.worktree)?$/.test(path);
}

/** The hooks, filters and other programs in the folder that settings name: they run when git does. */
function namedFiles(folder: string, settings: HostTraps['settings'], host: HostFiles): Set<string> {
  const named = new Set<string>();
  for (const [file, text] of settings) {
    const root = resolve(folder, file, '..', '..');
    for (const { word, isHooks } of wordsInSettings(text ?? '')) {
      for (const path of isAbsolute(word) ? [word] : [resolve(root, word), resolve(folder, file, '..', word)]) {
        if (path === folder || !liesIn(path, folder) || /\/\.git(?:\/|$)/.test(path)) continue;
        // What is not there yet may come.
        if (host.look(path)?.kind !== 'folder') named.add(relative(folder, path));
        else if (isHooks)
          for (const { name } of host.list(path).slice(0, maxHooks)) named.add(relative(folder, join(path, name)));
      }
    }
  }
  return named;
}

/** Of a link what it leads to, as git would read it. Null: no plain file, or more than anybody wrote by hand. */
function readWhole(path: string, host: HostFiles): string | null {
  const text = host.readText(host.realPath(path) ?? path, maxBytes);
  return text === null || Buffer.byteLength(text) >= maxBytes ? null : text;
}

function describe(path: string, host: HostFiles): string | null {
  const facts = host.look(path);
  if (facts === null) return null;
  if (facts.kind === 'link') return `link ${host.readLink(path)}`;
  if (facts.kind !== 'file') return facts.kind;
  const text = host.readText(path, maxBytes) ?? '';
  if (isNothingToGit(path, text)) return null;
  // Of a large one the end was not read.
  if (Buffer.byteLength(text) >= maxBytes) return `${facts.mode & 0o6111} changed at ${facts.changedMs}`;
  return `${facts.mode & 0o6111} ${createHash('sha256').update(text).digest('hex')}`;
}

/** The repository's own folder and, of a worktree, the one it shares with others. */
function ownFolders(folder: string, host: HostFiles): string[] {
  const pointer = join(folder, '.git');
  if (host.look(pointer)?.kind !== 'file') return [];
  const named = /^gitdir: (.+?)\s*$/.exec(host.readText(pointer, 4096) ?? '')?.[1];
  if (named === undefined) return [];
  const git = resolve(folder, named);
  const common = host.readText(join(git, 'commondir'), 4096)?.trim();
  return common === undefined ? [git] : [git, resolve(git, common)];
}

// What in a git folder leads git elsewhere or makes it run something, beside its settings: by name, and whatever is no plain file
// or folder, since git on the host would write through a link. Looks and changes nothing.
const watched = [
  ...['commondir', 'info/attributes', 'info/grafts', 'objects/info/alternates', 'config', 'config.worktree'],
  ...['rebase-merge/git-rebase-todo', 'rebase-apply/next', 'sequencer/todo', 'sequencer/opts'],
];
/** Each file in them counts. Of hooks git runs no sample. */
const watchedFolders = ['hooks', 'remotes', 'branches'];
/** Above this a hostile tree would hold us. */
const maxTraceEntries = 50_000;

interface GitTraces {
  /** Below the git folder; what is not there is left out. */
  readonly names: readonly string[];
  readonly complete: boolean;
}

function gitTraces(folder: string, files: HostFiles): GitTraces {
  const names = new Set(watched.filter((name) => files.look(join(folder, name)) !== null));
  for (const place of watchedFolders)
    for (const { name } of files.list(join(folder, place))) if (!name.endsWith('.sample')) names.add(join(place, name));
  for (const { name } of files.list(join(folder, 'worktrees'))) names.add(join('worktrees', name, 'commondir'));

  const folders = [''];
  let seen = 0;
  for (const at of folders) {
    for (const { name, kind } of files.list(join(folder, at))) {
      if (++seen > maxTraceEntries) return { names: [...names], complete: false };
      const path = join(at, name);
      // Each module is looked through by itself; objects lie two levels deep in hundreds of folders.
      if (kind === 'folder') {
        if (path !== 'modules' && !/^(?:lfs\/)?objects\/[0-9a-f]{2}$/.test(path)) folders.push(path);
      } else if (kind !== 'file') names.add(path);
    }
  }
  return { names: [...names], complete: true };
}

/** What git makes of these is nothing. */
function isNothingToGit(path: string, text: string): boolean {
  if (/(?:^|\/)worktrees\/[^/]+\/commondir$/.test(path)) return text.trim() === '../..';
  if (/(?:^|\/)commondir$/.test(path)) return text === ownCommonFolder;
  return text === '' && /(?:^|\/)(?:info\/attributes|info\/grafts|objects\/info\/alternates)$/.test(path);
}
