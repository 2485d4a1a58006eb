// The files of a repository that decide what git on the host runs and where it looks: read-only in a sandbox. One that is not
// there is made first, in a form that git takes for nothing, so that there is something to mount over. // Guards: threats.md T76
import { resolve } from 'node:path';
import type { HostFiles } from '../files/host-files.ts';
import { joined } from '../files/path-relations.ts';

/** In terms of the host: the planner puts it wherever the sandbox sees its folder. */
export interface GitMount {
  readonly kind: 'read-only' | 'read-write' | 'masked-folder';
  readonly path: string;
  /** It must not be let in for this alone. */
  readonly onlyIfSeen?: true;
}

/** What is made before the start, if it is missing, and taken away at the end. */
export interface StandIn {
  readonly path: string;
  /** Null: a folder. */
  readonly text: string | null;
}

export interface GitGuards {
  readonly mounts: readonly GitMount[];
  readonly standIns: readonly StandIn[];
  readonly notices: readonly string[];
}

export type GitConfigAccess = 'read-only' | 'writable';

/** "The common folder is this one": git works as without the file. An empty one it could not read. */
export const ownCommonFolder = '.\n';

const maxBytes = 1024 * 1024;
/** Each takes four mounts. */
const maxWorktrees = 50;

/**
 * Of one git folder; its hooks are not among them. Nothing is made in a bare repository among the files of another, which
 * would be taken for a new file there.
 */
export function gitGuards(repository: string, files: HostFiles, access: GitConfigAccess): GitGuards {
  const isBare = !/\/\.git(?:\/modules\/.+)?$/.test(repository);
  const mounts: GitMount[] = [];
  const standIns: StandIn[] = [];
  const notices: string[] = [];
  const guard = (name: string, text: string | null): void => {
    const path = joined(repository, name);
    const kind = files.look(path)?.kind;
    if (kind !== undefined && kind !== 'file') {
      notices.push(`${path} is a ${kind}: it is not protected, and git on this host follows it. Make it a file.`);
      return;
    }
    if (kind === undefined && (text === null || isBare)) return;
    // One that a run left which was killed is taken over; it goes at the end.
    const isLeft = name !== 'config' && !isBare && text !== null && files.readText(path, 16) === text;
    if (kind === undefined || isLeft) standIns.push({ path, text });
    mounts.push({ kind: 'read-only', path });
  };
  // By itself, or it could be renamed with all that is mounted in it.
  const hold = (name: string): boolean => {
    const path = joined(repository, name);
    const kind = files.look(path)?.kind;
    if (kind !== 'folder') return false;
    mounts.push({ kind: 'read-write', path });
    return true;
  };

  if (access === 'read-only') {
    guard('config', '');
    guard('config.worktree', '');
    for (const name of ['config', 'config.worktree'])
      for (const path of includedBy(files.readText(joined(repository, name), maxBytes) ?? '', repository))
        if (files.look(path)?.kind === 'file') mounts.push({ kind: 'read-only', path, onlyIfSeen: true });
  }
  guard('commondir', ownCommonFolder);
  const info = files.look(joined(repository, 'info'))?.kind;
  if (info === 'folder' || (info === undefined && !isBare)) {
    const path = joined(repository, 'info');
    if (info === undefined) standIns.push({ path, text: null });
    mounts.push({ kind: 'read-write', path });
    guard('info/attributes', '');
    guard('info/grafts', null);
  } else if (info !== undefined)
    notices.push(`${joined(repository, 'info')} is a ${info}: it is not protected. Make it a folder.`);
  if (files.look(joined(repository, 'objects/info/alternates')) !== null && hold('objects') && hold('objects/info'))
    guard('objects/info/alternates', null);

  const worktrees = files.list(joined(repository, 'worktrees')).filter(({ kind }) => kind === 'folder');
  if (worktrees.length > 0) hold('worktrees');
  for (const { name } of worktrees.slice(0, maxWorktrees)) {
    hold(`worktrees/${name}`);
    for (const file of ['commondir', 'gitdir']) guard(`worktrees/${name}/${file}`, null);
    if (access === 'read-only') guard(`worktrees/${name}/config.worktree`, null);
  }
  if (worktrees.length > maxWorktrees)
    notices.push(
      `${repository} has ${worktrees.length} worktrees: ${maxWorktrees} are protected. git worktree prune takes old ones away.`,
    );
  return { mounts, standIns, notices };
}

/** Settings in other files, by whatever condition. */
function includedBy(text: string, folder: string): string[] {
  const sections = text.split(/^(?=\s*\[)/m).filter((section) => /^\s*\[\s*include/i.test(section));
  const named = sections.flatMap((section) => [...section.matchAll(/^\s*(?:\[.*\]\s*)?path\s*=\s*"?(.+?)"?\s*$/gim)]);
  return named.map(([, path]) => resolve(folder, path!));
}
