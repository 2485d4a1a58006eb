// The periods that budgets run in, by UTC. A period is named by the date that it began, so a clock that is set back finds
// the sums of that time again and no fresh budget; one that is set forward begins the next one early.
import type { BudgetPeriod } from '../../../policy/compiled-limits.ts';

export interface Period {
  /** e.g. `day:2026-11-16`; different for every period of every length. */
  readonly key: string;
  readonly beginsAtMs: number;
  readonly endsAtMs: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export function periodAt(nowMs: number, length: BudgetPeriod): Period {
  const begin = beginningOf(new Date(nowMs), length);
  const end = endOf(begin, length);
  const date = new Date(begin).toISOString();
  return { key: `${length}:${date.slice(0, length === 'hour' ? 13 : 10)}`, beginsAtMs: begin, endsAtMs: end };
}

function beginningOf(now: Date, length: BudgetPeriod): number {
  const year = now.getUTCFullYear();
  const month = now.getUTCMonth();
  const day = now.getUTCDate();
  switch (length) {
    case 'hour':
      return Date.UTC(year, month, day, now.getUTCHours());
    case 'day':
      return Date.UTC(year, month, day);
    case 'week':
      // From Monday; Sunday is 0.
      return Date.UTC(year, month, day - ((now.getUTCDay() + 6) % 7));
    case 'month':
      return Date.UTC(year, month);
  }
}

function endOf(beginMs: number, length: BudgetPeriod): number {
  switch (length) {
    case 'hour':
      return beginMs + hourMs;
    case 'day':
      return beginMs + dayMs;
    case 'week':
      return beginMs + 7 * dayMs;
    case 'month': {
      const begin = new Date(beginMs);
      return Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1);
    }
  }
}
