// The repositories of submodules, which git keeps inside the one they belong to: each has hooks and settings of its own.
import type { FolderEntry, HostFiles } from '../files/host-files.ts';
import { joined } from '../files/path-relations.ts';

/** A name may have slashes in it, so they may lie deeper; a hostile tree must not hold the start. */
const maxDepth = 5;
const maxFolders = 200;

/** More than `gitModules` looks at. */
export function hasTooManyModules(gitFolder: string, files: HostFiles): boolean {
  return walkModules(gitFolder, files).cut;
}

/** The folders of all submodules below `gitFolder`, those of submodules in submodules too. */
export function gitModules(gitFolder: string, files: HostFiles): string[] {
  return walkModules(gitFolder, files).found;
}

function walkModules(gitFolder: string, files: HostFiles): { found: string[]; cut: boolean } {
  const found: string[] = [];
  let cut = false;
  const waiting = [{ folder: joined(gitFolder, 'modules'), depth: 0 }];
  for (const { folder, depth } of waiting) {
    if (waiting.length > maxFolders) return { found, cut: true };
    const entries = files.list(folder);
    const isRepository = entries.some(({ name }) => name === 'HEAD');
    if (isRepository) found.push(folder);
    if (depth === maxDepth) {
      cut ||= entries.some(({ kind, name }) => kind === 'folder' && (!isRepository || name === 'modules'));
      continue;
    }
    for (const { name, kind } of entries) {
      if (kind !== 'folder' || (isRepository && name !== 'modules')) continue;
      waiting.push({ folder: joined(folder, name), depth: depth + 1 });
    }
  }
  return { found, cut };
}

/** Git takes such a folder for a repository, whatever it is called. */
export function looksLikeGitFolder(entries: readonly FolderEntry[]): boolean {
  return ['HEAD', 'objects', 'refs'].every((part) => entries.some(({ name }) => name === part));
}
