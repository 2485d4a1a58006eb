// The repositories of submodules, which git keeps inside the one they belong to: each has hooks and settings of its own.
import type { HostFiles } from './host-files.ts';
import { joined } from './path-relations.ts';

/** A name may have slashes in it, so they may lie deeper; a hostile tree must not hold the start. */
const maxDepth = 5;
const maxFolders = 200;

/** The folders of all submodules below `gitFolder`, those of submodules in submodules too. */
export function gitModules(gitFolder: string, files: HostFiles): string[] {
  const found: string[] = [];
  const waiting = [{ folder: joined(gitFolder, 'modules'), depth: 0 }];
  for (const { folder, depth } of waiting) {
    if (waiting.length > maxFolders) break;
    const entries = files.list(folder);
    const isRepository = entries.some(({ name }) => name === 'HEAD');
    if (isRepository) found.push(folder);
    if (depth === maxDepth) continue;
    for (const { name, kind } of entries) {
      if (kind !== 'folder' || (isRepository && name !== 'modules')) continue;
      waiting.push({ folder: joined(folder, name), depth: depth + 1 });
    }
  }
  return found;
}
