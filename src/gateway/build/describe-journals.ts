// The journals of a gateway as one, for people: its own, and with workers those in which they write what they have served.
import type { Gauges } from '../../stages/audit/counts.ts';
import type { Journal } from '../../stages/audit/journal/journal.ts';
import type { WorkerJournalState } from '../workers/worker-verbs.ts';

export interface DescribedJournals {
  readonly healthy: boolean;
  /** Why not; of a journal that can be written it says nothing. */
  readonly trouble: string;
  readonly queued: number;
  readonly fileCount: number;
  readonly room: number;
  /** `seq`: how many records were ever written, in all of them. */
  readonly head: Gauges['journal']['head'];
}

export function describeJournals(own: Journal, workers: readonly WorkerJournalState[]): DescribedJournals {
  const failing = workers.find(({ healthy }) => !healthy);
  const ownTrouble = 'reason' in own.state ? own.state.reason : 'it is closed';
  return {
    healthy: own.healthy && failing === undefined,
    trouble: own.healthy && failing !== undefined ? failing.reason : ownTrouble,
    queued: workers.reduce((sum, { queued }) => sum + queued, own.queued),
    fileCount: workers.reduce((sum, { files }) => sum + files, own.fileCount),
    room: Math.min(own.room, ...workers.map(({ room }) => room)),
    head: { seq: workers.reduce((sum, { seq }) => sum + seq, own.head.seq) },
  };
}
