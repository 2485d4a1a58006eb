// Opens the journal of a gateway with everything that stands around it: its signatures, the share of each sandbox, the brake on
// floods of refusals, the counts, and the feed of what happens now. Decides nothing about requests.

import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { Feed } from '../../stages/audit/feed.ts';
import { CalmJournal } from '../../stages/audit/journal/calm-journal.ts';
import { Journal } from '../../stages/audit/journal/journal.ts';
import { JournalShares } from '../../stages/audit/journal/journal-shares.ts';
import { JournalSigner } from '../../stages/audit/journal/journal-signer.ts';
import { Metrics } from '../../stages/audit/metrics.ts';

export interface Records {
  readonly journal: Journal;
  readonly shares: JournalShares;
  /** The journal as the path writes it. */
  readonly calm: CalmJournal;
  readonly metrics: Metrics;
  readonly feed: Feed;
  /** Another policy is in force. */
  configure(policy: CompiledPolicy): void;
  /** Writes what was held back, signs the end and closes the journal. */
  close(): void;
}

/** Throws HomeInUse when another gateway writes there. */
export function openRecords(directory: string, policy: () => CompiledPolicy, log: Log): Records {
  const journal = new Journal({ directory, ...policy().audit, log });
  const signer = new JournalSigner({ journal, log });
  const metrics = new Metrics();
  const shares = new JournalShares({
    bytesPerDay: () => policy().audit.sandboxBytesPerDay,
    room: () => journal.room,
  });
  const calm = new CalmJournal({
    journal,
    shares,
    onFailure: (record, error) => {
      metrics.countUnrecorded();
      log.error('a record could not be kept in the journal', { record, error });
    },
  });
  return {
    journal,
    shares,
    calm,
    metrics,
    feed: new Feed(),
    configure({ audit }) {
      journal.configure(audit);
      shares.configure();
    },
    close() {
      calm.flush();
      signer.close();
    },
  };
}
