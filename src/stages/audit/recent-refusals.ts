// The recent refusals of each sandbox, for http://sallyport.internal/why. Bounded, in memory only, and each sandbox sees only
// its own. Never holds a cause, which is for the operator, nor the value of a query.
import { LRUCache } from 'lru-cache';
import type { ReportedRefusal } from '../../path/approvals.ts';
import { quotingPath, type RecordBody } from './journal/record.ts';

/** So many of each sandbox; the newest stay. */
const keptPerSandbox = 20;
/** How many sandboxes are remembered: those with the latest refusals. */
const maxSandboxes = 2_000;

export class RecentRefusals {
  readonly #ofSandbox: LRUCache<string, ReportedRefusal[]>;

  constructor(sandboxes = maxSandboxes) {
    this.#ofSandbox = new LRUCache({ max: sandboxes });
  }

  /** Takes a finished request; ignores those that were not refused and those of unknown callers. */
  take(record: RecordBody): void {
    const { sandbox, verdict, told } = record;
    if (verdict === 'allowed' || sandbox === null || told === null) return;
    const refusals = this.#ofSandbox.get(sandbox) ?? [];
    refusals.unshift(describe(record, told));
    if (refusals.length > keptPerSandbox) refusals.pop();
    this.#ofSandbox.set(sandbox, refusals);
  }

  /** The newest first. */
  of(sandbox: string): readonly ReportedRefusal[] {
    return [...(this.#ofSandbox.peek(sandbox) ?? [])];
  }

  /** The sandbox is gone. */
  drop(sandbox: string): void {
    this.#ofSandbox.delete(sandbox);
  }
}

function describe(record: RecordBody, told: string): ReportedRefusal {
  return {
    time: record.time,
    requestId: record.id,
    method: record.method,
    url: urlOf(record),
    status: record.status,
    code: record.code ?? '',
    rule: record.rule ?? '',
    reason: quotingPath(told, record),
    hint: quotingPath(record.hint ?? '', record),
  };
}

function urlOf({ kind, scheme, host, port, path, query }: RecordBody): string {
  if (kind === 'lookup') return host;
  if (kind === 'connect' || kind === 'tunnel') return `${host}:${port}`;
  if (scheme === 'tcp') return `${scheme}://${host}:${port}`;
  const authority = port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
  // The record has the names of the query alone.
  const asked = query === null ? '' : `?${query === '' ? '' : query.replaceAll('&', '=…&')}${query === '' ? '' : '=…'}`;
  return `${scheme}://${authority}${path}${asked}`;
}
