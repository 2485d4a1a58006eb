// What the gateway's own journal says of those of its workers, and what becomes of one whose worker there is no more: it stays
// until all of it is older than what is kept, and then goes whole, which is written down first.
import { rmSync } from 'node:fs';
import type { Log } from '../../../kit/text/log.ts';
import type { Journal } from './journal.ts';
import { genesis, listJournalFiles, readFirst, readHead } from './journal-files.ts';
import { listWorkerJournals } from './journal-parts.ts';
import { isoTime, type WorkerNote } from './record.ts';

/** Where `audit.keep_days` says less: a number of workers is lowered for a day, and raised again. */
const keptAtLeastMs = 7 * 86_400_000;

export function workerNote(
  worker: number,
  { seq, hash }: { readonly seq: number; readonly hash: string },
  how: string,
  nowMs = Date.now(),
): WorkerNote {
  const gone = how === 'is let go';
  const text = `the journal of worker ${worker} ${how} at record ${seq}`;
  return { time: isoTime(nowMs), note: 'worker', text, worker, count: seq, hash, gone };
}

/** At a start, before there are workers: those past the number of today. */
export function letGoOfLeftJournals(
  journal: Pick<Journal, 'directory' | 'append' | 'flush' | 'healthy'>,
  { workers, keepMs, log }: { readonly workers: number; readonly keepMs: number; readonly log: Pick<Log, 'error'> },
  nowMs = Date.now(),
): void {
  for (const { worker, directory } of listWorkerJournals(journal.directory)) {
    if (worker <= workers || !journal.healthy) continue;
    try {
      const newestMs = Math.max(...listJournalFiles(directory).map(({ path }) => readFirst(path).endedMs));
      if (nowMs - newestMs < Math.max(keepMs, keptAtLeastMs)) continue;
      const head = readHead(directory);
      if (head === 'unreadable') continue;
      journal.append(workerNote(worker, head ?? { seq: 0, hash: genesis }, 'is let go', nowMs));
      journal.flush();
      if (journal.healthy) rmSync(directory, { recursive: true });
    } catch (error) {
      log.error('the journal of a worker that is no more could not be removed', { worker, error });
    }
  }
}
