// Keeps the firewall up to date with the registrations: checks often, changes only the members, and restores what somebody
// else has changed. When it cannot find out the right state, it leaves the rules in force: it never opens.
import { applyFirewall, type Standing } from './apply-firewall.ts';
import { type Listed, rehearse } from './nft.ts';
import type { Ruleset } from './ruleset.ts';

/** How long a sandbox that has ended can still be pinned, and one that was registered waits. */
export const lookEveryMs = 2_000;

export interface WatchParts {
  /** The ruleset as it should be now. */
  ruleset(): Promise<Ruleset>;
  /** What was found and set right; not called when there was nothing to do. */
  changed(found: Standing, ruleset: Ruleset): void;
  /** Once for each new reason. */
  failed(error: unknown): void;
  readonly signal: AbortSignal;
}

/** Resolves when the signal is given. */
export async function watchFirewall({ ruleset, changed, failed, signal }: WatchParts): Promise<void> {
  let text = '';
  let rehearsed: Listed | undefined;
  let complaint = '';
  while (!signal.aborted) {
    try {
      const wanted = await ruleset();
      if (text !== wanted.text) rehearsed = await rehearse(wanted.text, wanted.table);
      text = wanted.text;
      const found = await applyFirewall(wanted, rehearsed);
      if (found.kind !== 'in-force') changed(found, wanted);
      complaint = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== complaint) failed(error);
      complaint = reason;
    }
    await pause(signal);
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, lookEveryMs);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
}
