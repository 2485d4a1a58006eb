// What in a git folder leads git elsewhere or makes it run something, beside its settings: by name, and whatever is no plain file
// or folder, since git on the host would write through a link. Looks and changes nothing.
import { join } from 'node:path';
import type { HostFiles } from '../files/host-files.ts';
import { ownCommonFolder } from './git-guards.ts';

const watched = [
  ...['commondir', 'info/attributes', 'info/grafts', 'objects/info/alternates', 'config', 'config.worktree'],
  ...['rebase-merge/git-rebase-todo', 'rebase-apply/next', 'sequencer/todo', 'sequencer/opts'],
];
/** Each file in them counts. Of hooks git runs no sample. */
const watchedFolders = ['hooks', 'remotes', 'branches'];
/** Above this a hostile tree would hold us. */
const maxEntries = 50_000;

export interface GitTraces {
  /** Below the git folder; what is not there is left out. */
  readonly names: readonly string[];
  readonly complete: boolean;
}

export function gitTraces(folder: string, files: HostFiles): GitTraces {
  const names = new Set(watched.filter((name) => files.look(join(folder, name)) !== null));
  for (const place of watchedFolders)
    for (const { name } of files.list(join(folder, place))) if (!name.endsWith('.sample')) names.add(join(place, name));
  for (const { name } of files.list(join(folder, 'worktrees'))) names.add(join('worktrees', name, 'commondir'));

  const folders = [''];
  let seen = 0;
  for (const at of folders) {
    for (const { name, kind } of files.list(join(folder, at))) {
      if (++seen > maxEntries) return { names: [...names], complete: false };
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
export function isNothingToGit(path: string, text: string): boolean {
  if (/(?:^|\/)worktrees\/[^/]+\/commondir$/.test(path)) return text.trim() === '../..';
  if (/(?:^|\/)commondir$/.test(path)) return text === ownCommonFolder;
  return text === '' && /(?:^|\/)(?:info\/attributes|info\/grafts|objects\/info\/alternates)$/.test(path);
}
