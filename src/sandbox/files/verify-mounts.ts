// Looks from outside at the mounts of a sandbox in which nothing runs yet: each must be what was judged (seal-mounts.ts), and
// lie where it was meant to. A launcher lets the command go only after this, and ends the sandbox otherwise.
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LaunchError } from '../run/sandbox-plan.ts';
import { holdFolderOf, holdPath, identityAt, type PathHandle } from './path-handle.ts';
import type { SealedMount } from './seal-mounts.ts';

/** /dev/null, on every Linux. */
const nullDevice = 0x103;

/** Somebody who renames a folder while we look makes a right mount look wrong; never the other way round. */
const maxTries = 20;

/** Throws when a mount of this process is not what was judged. // Guards: threats.md T80 */
export async function verifyMounts(pid: number, seals: readonly SealedMount[]): Promise<void> {
  let wrong: string | null = null;
  for (let tries = 0; tries < maxTries; tries++) {
    wrong = findSwapped(pid, seals);
    if (wrong === null) return;
    await sleep(1);
  }
  throw changedSinceJudged(wrong as string);
}

/** The target of the first mount that is not as it was judged; null: all are. */
function findSwapped(pid: number, seals: readonly SealedMount[]): string | null {
  const table = readMounts(pid);
  const folders = new Map<string, PathHandle | null>();
  const seen = new Set<number>();
  try {
    for (const seal of seals) {
      const { target } = seal.mount;
      const parent = dirname(target);
      if (!folders.has(parent)) folders.set(parent, holdFolderOf(pid, parent));
      const id = mountAt(seal, folders.get(parent) ?? null, basename(target), table);
      // One mount for each: none of them has gone astray to where another target is.
      if (id === null || seen.has(id)) return target;
      seen.add(id);
    }
    return null;
  } finally {
    for (const folder of folders.values()) folder?.close();
  }
}

/**
 * Why the mounts of a sandbox could not be made, where it is that something is no longer what was judged: it was there then, and
 * the launcher has not found it. Else the error as it is.
 */
export function orWhatChanged(error: unknown, seals: readonly SealedMount[]): unknown {
  if (!(error instanceof LaunchError)) return error;
  const changed = seals.find(
    ({ mount, source }) =>
      'source' in mount &&
      source !== null &&
      (identityAt(mount.source) !== source || error.message.includes(`${mount.source}: No such file`)),
  );
  return changed === undefined ? error : changedSinceJudged(changed.mount.target);
}

export function changedSinceJudged(target: string): LaunchError {
  return new LaunchError(
    `what was to be mounted at ${target} changed after it was checked, so the command was not started`,
    'A program in another sandbox that can write there may have done it. End that sandbox (`sallyport list` names those that run), look at what lies there, and try again.',
  );
}

/** The number of the mount when it is the right one. */
function mountAt(seal: SealedMount, parent: PathHandle | null, name: string, table: MountTable): number | null {
  if (parent === null || !isAround(seal, parent)) return null;
  const held = parent.child(name);
  if (held === null) return null;
  try {
    const id = held.mountId();
    const entry = table.get(id);
    // A thing seen through another mount than the folder it lies in is what that mount shows.
    return entry !== undefined && id !== parent.mountId() && isRight(seal, held, entry) ? id : null;
  } finally {
    held.close();
  }
}

function isAround({ mount, around }: SealedMount, parent: PathHandle): boolean {
  switch (around.is) {
    case 'known':
      return parent.identity === around.identity;
    case 'made':
      return parent.name() === dirname(mount.target);
    case 'fresh':
      return true;
  }
}

function isRight({ mount, source }: SealedMount, held: PathHandle, entry: MountEntry): boolean {
  switch (mount.kind) {
    case 'read-write':
      return held.identity === source;
    case 'read-only':
      return held.identity === source && entry.readOnly;
    case 'masked-file':
      return held.stats.isCharacterDevice() && held.stats.rdev === nullDevice;
    case 'masked-folder':
      return entry.type === 'tmpfs' && entry.readOnly;
    case 'empty':
      return entry.type === 'tmpfs';
    case 'link':
      return true;
  }
}

interface MountEntry {
  readonly type: string;
  readonly readOnly: boolean;
}

type MountTable = ReadonlyMap<number, MountEntry>;

/** By their numbers, in the mount namespace of the process. */
function readMounts(pid: number): MountTable {
  const lines = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n').filter(Boolean);
  return new Map(
    lines.map((line) => {
      const [before, after = ''] = line.split(' - ');
      const fields = before!.split(' ');
      const readOnly = fields[5]!.split(',').includes('ro');
      return [Number(fields[0]), { type: after.split(' ')[0]!, readOnly }];
    }),
  );
}

/** The process has a root of its own by now, with something of the plan in it. Before, its mounts are still being made. */
export function hasOwnRoot(pid: number, seals: readonly SealedMount[]): boolean {
  const [own, theirs] = [holdPath('/.'), holdPath(`/proc/${pid}/root/.`)];
  try {
    if (own === null || theirs === null || own.identity === theirs.identity) return false;
    return seals.length === 0 || seals.some(({ mount }) => isThere(pid, mount.target));
  } finally {
    own?.close();
    theirs?.close();
  }
}

function isThere(pid: number, target: string): boolean {
  const held = holdPath(`/proc/${pid}/root${target}`);
  held?.close();
  return held !== null;
}
