// Opens the journal of a gateway with everything that stands around it: its signatures, the share of each sandbox, the brake on
// floods of refusals, the counts, and the feed of what happens now. Decides nothing about requests.

import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { Feed } from '../../stages/audit/feed.ts';
import { CalmJournal } from '../../stages/audit/journal/calm-journal.ts';
import { Journal } from '../../stages/audit/journal/journal.ts';
import { journalsOf, partOf } from '../../stages/audit/journal/journal-parts.ts';
import { JournalShares } from '../../stages/audit/journal/journal-shares.ts';
import { JournalSigner } from '../../stages/audit/journal/journal-signer.ts';
import { letGoOfLeftJournals } from '../../stages/audit/journal/worker-notes.ts';
import { Metrics } from '../../stages/audit/metrics.ts';

export interface Records {
  readonly journal: Journal;
  readonly shares: JournalShares;
  /** The journal as the path writes it. */
  readonly calm: CalmJournal;
  readonly metrics: Metrics;
  readonly feed: Feed;
  /** What the journals of workers have left of their room: 1 all of it, 0 none. Where there are no workers: 1. */
  roomOfWorkers: () => number;
  /** Another policy is in force. */
  configure(policy: CompiledPolicy): void;
  /** Writes what was held back, signs the end and closes the journal. */
  close(): void;
}

/** `processes`: how many serve. Throws HomeInUse when another gateway writes there. */
export function openRecords(directory: string, policy: () => CompiledPolicy, processes: number, log: Log): Records {
  const limits = ({ audit }: CompiledPolicy) => partOf(audit, journalsOf(processes));
  const journal = new Journal({ directory, ...limits(policy()), log });
  letGoOfLeftJournals(journal, { workers: processes > 1 ? processes : 0, keepMs: policy().audit.keepMs, log });
  const signer = new JournalSigner({ journal, log });
  const metrics = new Metrics();
  const shares = new JournalShares({
    bytesPerDay: () => policy().audit.sandboxBytesPerDay,
    room: () => Math.min(journal.room, records.roomOfWorkers()),
  });
  const calm = new CalmJournal({
    journal,
    shares,
    onFailure: (record, error) => {
      metrics.countUnrecorded();
      log.error('a record could not be kept in the journal', { record, error });
    },
  });
  const records: Records = {
    journal,
    shares,
    calm,
    metrics,
    feed: new Feed(),
    roomOfWorkers: () => 1,
    configure(changed) {
      journal.configure(limits(changed));
      shares.configure();
    },
    close() {
      calm.flush();
      signer.close();
    },
  };
  return records;
}
