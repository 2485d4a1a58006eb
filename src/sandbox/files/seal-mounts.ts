// What the mounts of a plan were when they were judged, by device and inode: their names may lead elsewhere by the time a
// launcher uses them, since another sandbox can write around them (ADR 039). verify-mounts.ts asks for it again, inside.
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Mount } from '../run/sandbox-plan.ts';
import { holdPath, identityAt } from './path-handle.ts';
import { liesIn, moved } from './path-relations.ts';

/** Of one mount that nothing else of the plan covers. */
export interface SealedMount {
  readonly mount: Mount;
  /** What is bound; null: it was not there, or a link led to it, and then nothing is the right thing. */
  readonly source: string | null;
  readonly around: FolderAround;
}

/** The folder that holds the target. */
export type FolderAround =
  /** Of the host: this one. Null: a link led to it, and then nothing is the right thing. */
  | { readonly is: 'known'; readonly identity: string | null }
  /** The launcher makes it, in a folder of the host: under its own name, with no link on the way. */
  | { readonly is: 'made' }
  /** Of an image, or of a root that the launcher makes: no sandbox has written there. */
  | { readonly is: 'fresh' };

/**
 * `base` is what lies where nothing is mounted: the host's files, or some that no sandbox has written. `known`: seals of these
 * mounts that were made earlier.
 */
export function sealMounts(
  mounts: readonly Mount[],
  base: 'host' | 'fresh',
  known: readonly SealedMount[] = [],
): readonly SealedMount[] {
  const seals = new Map(known.map((seal) => [seal.mount.target, seal]));
  return mounts.flatMap((mount, at) => {
    if (mount.kind === 'link' || mounts.slice(at + 1).some(({ target }) => liesIn(mount.target, target))) return [];
    const source = 'source' in mount ? identityAt(mount.source) : null;
    return [seals.get(mount.target) ?? { mount, source, around: folderAround(mount, mounts.slice(0, at), base) }];
  });
}

function folderAround({ target }: Mount, before: readonly Mount[], base: 'host' | 'fresh'): FolderAround {
  const folder = dirname(target);
  // Each covers what was there before it.
  const around = before.findLast((each) => each.kind !== 'link' && liesIn(folder, each.target));
  if (around === undefined) return base === 'fresh' ? { is: 'fresh' } : knownFolder(realOf(folder));
  return 'source' in around ? knownFolder(moved(folder, around.target, around.source)) : { is: 'fresh' };
}

function knownFolder(folder: string): FolderAround {
  const held = holdPath(folder);
  if (held === null) return { is: 'made' };
  held.close();
  return { is: 'known', identity: identityAt(folder) };
}

/** The system may have links of its own: /tmp is one on some. */
function realOf(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    return folder;
  }
}
