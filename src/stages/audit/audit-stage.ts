// The last stage: every flow ends here once, however it ended. Writes the record, counts it, shows it to whoever
// watches, and tells the operator of refusals and of our own faults. Never throws: the answer has already been given.

import type { Log } from '../../kit/text/log.ts';
import type { Arrived, Forwarded } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Feed } from './feed.ts';
import type { Journal } from './journal/journal.ts';
import { describeFlow, type RecordBody, type RecordedOutcome } from './journal/record.ts';
import type { Metrics } from './metrics.ts';
import type { RecentRefusals } from './recent-refusals.ts';

export interface AuditParts {
  readonly journal: Pick<Journal, 'append' | 'healthy' | 'state'>;
  readonly metrics: Pick<Metrics, 'count' | 'countUnrecorded'>;
  readonly feed: Pick<Feed, 'publish'>;
  /** What sandboxes were refused lately; left out where another process remembers it. */
  readonly refusals?: Pick<RecentRefusals, 'take'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Takes real credentials out of texts that a sandbox can influence. */
  readonly clean?: (text: string) => string;
}

export interface Audit {
  /** Throws `audit.unavailable` while records cannot be kept: what cannot be recorded is not served. */
  requireJournal(): void;
  finish(flow: Arrived & Partial<Forwarded>, outcome: RecordedOutcome): void;
  /** A finished request that another process of this gateway has served and described. */
  take(record: RecordBody): void;
  /** Whoever watches sees it: another process of this gateway has served it, counted it and written it down. */
  show(seq: number, record: RecordBody): void;
}

/** A sandbox that is refused in a loop must not fill the operator's log; the journal has every one. */
const linesPerSecond = 20;

export function createAudit({ journal, metrics, feed, refusals, log, clean }: AuditParts): Audit {
  const refusedLines = new Budget(linesPerSecond);
  const faults = new Budget(linesPerSecond);

  const tell = (record: RecordBody, { refusal, error, verdict }: RecordedOutcome): void => {
    const ours = refusal === null ? error != null && verdict === 'failed' : refusal.code === 'internal.error';
    const { incident } = record;
    if (!ours && refusal === null && incident === null) return;
    const budget = ours ? faults : refusedLines;
    if (!budget.take()) return;
    const { id, sandbox, method, host, path, status, code, rule, reason } = record;
    const left = budget.takeMissed();
    const detail = {
      id,
      sandbox,
      method,
      host,
      path,
      status,
      code,
      rule,
      ...(left > 0 ? { unshown_before: left } : {}),
    };
    if (ours)
      log.error('a request failed inside the gateway', { ...detail, error: refusal?.cause ?? error ?? refusal });
    else if (incident !== null) log.warn('incident', { ...detail, incident, reason });
    else log.info('refused', { ...detail, reason });
  };

  const take = (record: RecordBody): void => {
    metrics.count(record);
    let seq = 0;
    try {
      seq = journal.append(record);
    } catch (error) {
      metrics.countUnrecorded();
      // The operational log is the last place where it can be kept.
      if (faults.take()) log.error('a record could not be kept in the journal', { record, error });
    }
    show(seq, record);
  };
  const show = (seq: number, record: RecordBody): void => {
    feed.publish(seq, record);
    if (record.verdict !== 'allowed') refusals?.take(record);
  };

  return {
    take,
    show,

    requireJournal() {
      if (journal.healthy) return;
      const { state } = journal;
      throw new Refusal('audit.unavailable', 'the gateway cannot keep its audit journal, so it serves nothing', {
        hint: 'The operator of the gateway must look at its log.',
        cause: 'reason' in state ? new Error(state.reason) : undefined,
      });
    },

    finish(flow, outcome) {
      let record: RecordBody;
      try {
        record = describeFlow(flow, outcome, clean);
      } catch (error) {
        metrics.countUnrecorded();
        log.error('a request could not be described for the journal', { id: flow.requestId, error });
        return;
      }
      take(record);
      tell(record, outcome);
    },
  };
}

/** Lines per second; what is over the limit is only counted. */
class Budget {
  readonly #perSecond: number;
  #left: number;
  #until = 0;
  #missed = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
  }

  take(): boolean {
    const now = performance.now();
    if (now >= this.#until) {
      this.#until = now + 1000;
      this.#left = this.#perSecond;
    }
    if (this.#left > 0) {
      this.#left--;
      return true;
    }
    this.#missed++;
    return false;
  }

  takeMissed(): number {
    const missed = this.#missed;
    this.#missed = 0;
    return missed;
  }
}
