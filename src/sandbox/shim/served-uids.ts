// Which uids the shim serves, and whether it may run as the one it has. The key is safe from the agent only because
// the kernel keeps one uid out of the files and the memory of another: so the shim never runs as a uid that it serves.
import { readFileSync } from 'node:fs';
import { ShimRefused } from './shim-refused.ts';

/** What the kernel says of this process and its user namespace. */
export interface OwnUser {
  readonly uids: readonly number[];
  /** Every uid of the machine has a number here. */
  readonly seesEveryUid: boolean;
  /** The number that stands for every uid without one. */
  readonly overflowUid: number;
}

/** (uid_t)-1 means "none" to the kernel. */
const largestUid = 0xfffffffe;

export function parseUids(words: readonly string[]): ReadonlySet<number> {
  for (const word of words) {
    if (/^\d{1,10}$/.test(word) && Number(word) <= largestUid) continue;
    throw new ShimRefused(`--for-uid ${word} is not a uid`, 'Write the number: `id -u` in the sandbox prints it.');
  }
  return new Set(words.map(Number));
}

/** Throws where the agent could come at the key. Returns what the operator should know all the same. */
export function checkUids(served: ReadonlySet<number>, own: OwnUser): readonly string[] {
  if (served.size === 0) throw new ShimRefused('the shim serves nobody', 'Name the uid of the agent: --for-uid UID');
  const same = own.uids.find((uid) => served.has(uid));
  if (same !== undefined) {
    throw new ShimRefused(
      `the shim runs as uid ${same} and is to serve uid ${same}, which could then read its key`,
      'Start the shim as a uid of its own: setpriv --reuid=UID --regid=GID --clear-groups sallyport shim …',
    );
  }
  if (own.uids.includes(0)) {
    throw new ShimRefused(
      'the shim does not run as root: it needs no right that root has',
      'Start it as a uid of its own: setpriv --reuid=UID --regid=GID --clear-groups sallyport shim …',
    );
  }
  if (!own.seesEveryUid && served.has(own.overflowUid)) {
    throw new ShimRefused(
      `uid ${own.overflowUid} stands for every uid that has no number in this user namespace: the shim would serve them all`,
      'Let the agent run as another uid, and name that one with --for-uid.',
    );
  }
  if (!served.has(0)) return [];
  return [
    'serves uid 0: root reads the key of the shim, unless it has no capabilities, or is in another container than the shim',
  ];
}

export function lookAtOwnUser(): OwnUser {
  const { getuid, geteuid } = process;
  if (getuid === undefined || geteuid === undefined) throw new ShimRefused('there are no uids here', 'Use Linux.');
  return {
    uids: [getuid.call(process), geteuid.call(process)],
    seesEveryUid: /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8')),
    overflowUid: Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8')),
  };
}
