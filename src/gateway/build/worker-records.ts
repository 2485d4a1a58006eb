// The records of a worker. What it has served it writes into a journal of its own, in its own process, so that no other process
// is asked for a request; what was refused goes to the gateway's own journal, where floods are gathered. The gateway hears in
// sums what was served: once a second, and at once where a share of the journal is being used up. Nothing is served while
// either journal cannot be written.
import { setTimeout as sleep } from 'node:timers/promises';
import { HomeInUse } from '../../kit/files/home-in-use.ts';
import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { AuditParts } from '../../stages/audit/audit-stage.ts';
import { takeCounts } from '../../stages/audit/carried-counts.ts';
import { wasServed } from '../../stages/audit/journal/calm-journal.ts';
import { Journal } from '../../stages/audit/journal/journal.ts';
import { journalsOf, partOf, workerJournal } from '../../stages/audit/journal/journal-parts.ts';
import { JournalSigner } from '../../stages/audit/journal/journal-signer.ts';
import type { RecordBody } from '../../stages/audit/journal/record.ts';
import { Metrics } from '../../stages/audit/metrics.ts';
import type { Channel } from '../workers/channel.ts';
import type { JournalRelay } from '../workers/journal-relay.ts';
import type { ToPrimary, ToWorker, WorkerJournalState } from '../workers/worker-verbs.ts';

export interface WorkerRecordsOptions {
  /** Of the gateway. */
  readonly journalDirectory: string;
  readonly worker: number;
  readonly workers: number;
  readonly policy: () => CompiledPolicy;
  readonly relay: JournalRelay;
  readonly channel: Pick<Channel<ToPrimary, ToWorker>, 'ask' | 'tell'>;
  /** Somebody watches what is served. */
  readonly watched: boolean;
  readonly log: Log;
}

interface Spent {
  bytes: number;
  identified: boolean;
}

/** One that was killed a moment ago may still have its journal. */
const freeWithinMs = 10_000;
const reportEveryMs = 1000;
const syncedAfterMs = 20_000;
/** A share is used up by at most so much more than it is, for each worker: this part of it, and no more than so many bytes. */
const partOfShare = 64;
const mostUntold = 64 * 1024;
/** The gateway's process bounds the names; in one second there are fewer. */
const namesASecond = 10_000;

export class WorkerRecords {
  readonly #options: WorkerRecordsOptions;
  readonly #journal: Journal;
  readonly #signer: JournalSigner;
  readonly #metrics = new Metrics(namesASecond);
  #spent = new Map<string, Spent>();
  readonly #identified = new Set<string>();
  readonly #credentials = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #hasNews = false;
  #watched: boolean;
  /** What is on the disk for sure; null: the journal is broken. */
  #syncedHead: Journal['head'] | null;
  /** What will be when it is old enough: the journal syncs every few seconds. */
  #writtenHead: { readonly head: Journal['head']; readonly atMs: number } | null = null;
  #lost = 0;

  static async open(options: WorkerRecordsOptions): Promise<WorkerRecords> {
    const { journalDirectory, worker, log } = options;
    const directory = workerJournal(journalDirectory, worker);
    for (const untilMs = performance.now() + freeWithinMs; ; await sleep(50)) {
      try {
        return new WorkerRecords(options, new Journal({ directory, ...limitsOf(options), log }));
      } catch (error) {
        if (!(error instanceof HomeInUse) || performance.now() > untilMs) throw error;
      }
    }
  }

  private constructor(options: WorkerRecordsOptions, journal: Journal) {
    this.#options = options;
    this.#journal = journal;
    this.#watched = options.watched;
    this.#signer = new JournalSigner({ journal, log: options.log });
    journal.sync();
    this.#syncedHead = journal.healthy ? journal.head : null;
  }

  /** What the audit stage writes to. */
  get parts(): Pick<AuditParts, 'journal'> {
    const { relay } = this.#options;
    const journal = this.#journal;
    return {
      journal: {
        append: this.#append,
        get healthy() {
          return journal.healthy && relay.healthy;
        },
        get state() {
          return journal.healthy ? (relay.state as Journal['state']) : journal.state;
        },
      },
    };
  }

  get state(): WorkerJournalState {
    const { healthy, state, queued, fileCount, room } = this.#journal;
    const reason = 'reason' in state ? state.reason.slice(0, 2048) : '';
    const closed = state.kind === 'closed';
    return {
      healthy,
      reason,
      seq: this.#journal.head.seq,
      queued,
      files: fileCount,
      room,
      head: this.#headOnDisk(closed),
      closed,
    };
  }

  /** How many records were to go to the gateway's own journal and could not, since this was last asked. */
  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /** Called when it can be written no more, and when it can again. */
  onChange(listener: () => void): void {
    this.#journal.onChange = listener;
  }

  /** Another policy is in force. */
  configure(): void {
    this.#journal.configure(limitsOf(this.#options));
  }

  setWatched(watched: boolean): void {
    this.#watched = watched;
  }

  /** A sandbox is gone: the next of that name is told anew. */
  drop(sandbox: string): void {
    this.#identified.delete(sandbox);
  }

  /** Says what was served since it last said so. */
  report(): Promise<unknown> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!this.#hasNews) return Promise.resolve();
    this.#hasNews = false;
    const spent = this.#spent;
    this.#spent = new Map();
    const credentials = [...this.#credentials];
    this.#credentials.clear();
    const sandboxes = [...spent].map(([id, { bytes, identified }]) => [id, bytes, identified] as const);
    // Without an answer this process is about to end.
    return this.#options.channel
      .ask('served', { counts: takeCounts(this.#metrics), sandboxes, credentials })
      .catch(() => {});
  }

  /** Writes what waits: this process ends at once. */
  flush(): void {
    this.#journal.flush();
  }

  /** Says and writes everything, and lets the journal go. */
  async close(): Promise<void> {
    await this.report();
    this.#signer.close();
  }

  readonly #append = (record: RecordBody): number => {
    if (!wasServed(record)) return this.#relay(record);
    this.#metrics.count(record);
    this.#hasNews = true;
    const seq = this.#journal.append(record);
    const { sandbox, credential } = record;
    if (sandbox !== null) this.#spend(sandbox, this.#journal.lastBytes, record.proof.length > 0);
    if (credential !== null) this.#credentials.add(credential);
    // A refusal of this kind is told at once: the sandbox may ask for the reason next.
    if (this.#watched || record.verdict !== 'allowed') this.#options.channel.tell('shown', { seq, record });
    this.#timer ??= setTimeout(() => void this.report(), reportEveryMs).unref();
    return seq;
  };

  #relay(record: RecordBody): number {
    try {
      return this.#options.relay.append(record);
    } catch (error) {
      this.#lost++;
      throw error;
    }
  }

  #headOnDisk(closed: boolean): Journal['head'] | null {
    if (this.#syncedHead === null) return null;
    const { head, healthy, queued } = this.#journal;
    const nowMs = performance.now();
    if (closed) this.#syncedHead = head;
    else if (this.#writtenHead !== null && nowMs - this.#writtenHead.atMs < syncedAfterMs) return this.#syncedHead;
    else {
      this.#syncedHead = this.#writtenHead?.head ?? this.#syncedHead;
      this.#writtenHead = healthy && queued === 0 ? { head, atMs: nowMs } : null;
    }
    return this.#syncedHead;
  }

  #spend(sandbox: string, bytes: number, identified: boolean): void {
    const spent = this.#spent.get(sandbox);
    const isNew = identified && !this.#identified.has(sandbox);
    if (isNew) this.#identified.add(sandbox);
    if (spent === undefined) this.#spent.set(sandbox, { bytes, identified });
    else {
      spent.bytes += bytes;
      spent.identified ||= identified;
    }
    const perDay = this.#options.policy().audit.sandboxBytesPerDay;
    const untold = spent?.bytes ?? bytes;
    if (isNew || (perDay > 0 && untold >= Math.min(mostUntold, perDay / partOfShare))) void this.report();
  }
}

function limitsOf({ policy, workers }: Pick<WorkerRecordsOptions, 'policy' | 'workers'>) {
  return partOf(policy().audit, journalsOf(workers));
}
