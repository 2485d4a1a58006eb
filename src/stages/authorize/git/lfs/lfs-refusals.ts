// The three ways in which a request of git-lfs is refused, in the words that git-lfs shows. One and the same answer for
// every ticket that is not good, whatever is wrong with it.
import { Refusal } from '../../../../path/refusal.ts';

export function notLfs(problem: string): Refusal {
  return new Refusal('lfs.malformed', `this is not a request of git-lfs: ${problem}`, {
    rule: 'built-in: git-lfs as git-lfs speaks it',
    hint: 'Use an unmodified git-lfs client.',
  });
}

export function notAllowed(message: string, rule: string, hint: string): Refusal {
  return new Refusal('lfs.not-allowed', message, { rule, hint });
}

export function badTicket(): Refusal {
  return new Refusal('lfs.ticket', 'this address of an LFS object has expired, or was given to another sandbox', {
    rule: 'built-in: an LFS address is for one sandbox, object, method and time',
    hint: 'Run the git-lfs command again.',
  });
}

/** The LFS server, or the storage that it named, sent what cannot be passed on. */
export function unsafeLfsAnswer(host: string, what: string, cause?: unknown): Refusal {
  return new Refusal('upstream.protocol', `the LFS server of ${host} ${what}`, { cause });
}
