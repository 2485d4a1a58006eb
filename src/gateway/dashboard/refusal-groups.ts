// Refusals grouped by code and rule, each group with its latest request. Bounded: when there are too many groups, the one that
// was quiet longest is dropped; when a group has too many sandboxes, the newest stay.
import { detached, type FedRecord, isRefused } from './fed-record.ts';
import type { RefusalGroup, RulePlace } from './shapes.ts';

const usualGroups = 200;
const maxSandboxes = 20;
const maxText = 300;

export class RefusalGroups {
  readonly #maxGroups: number;
  /** In order of the last refusal. */
  readonly #groups = new Map<string, RefusalGroup>();

  constructor(maxGroups = usualGroups) {
    this.#maxGroups = maxGroups;
  }

  add(record: FedRecord, place: RulePlace | null = null): void {
    if (!isRefused(record)) return;
    const code = record.code ?? 'unknown';
    const rule = short(record.rule ?? '');
    const key = detached(`${code} ${rule}`);
    const known = this.#groups.get(key);
    this.#groups.delete(key);
    this.#groups.set(key, {
      code,
      rule: known?.rule ?? detached(rule),
      count: (known?.count ?? 0) + 1,
      lastAt: record.time,
      sandboxes: withNewest(known?.sandboxes ?? [], record.sandbox),
      example: detached(short(`${record.method} ${record.scheme}://${record.host}${portOf(record)}${record.path}`)),
      reason: detached(record.reason ?? ''),
      hint: detached(record.hint ?? ''),
      place,
    });
    const quietest = this.#groups.keys().next().value;
    if (this.#groups.size > this.#maxGroups && quietest !== undefined) this.#groups.delete(quietest);
  }

  /** The most frequent first. */
  list(): RefusalGroup[] {
    return [...this.#groups.values()].reverse().sort((a, b) => b.count - a.count);
  }
}

function withNewest(sandboxes: readonly string[], sandbox: string | null): readonly string[] {
  if (sandbox === null || sandboxes.at(-1) === sandbox) return sandboxes;
  return [...sandboxes.filter((one) => one !== sandbox), detached(sandbox)].slice(-maxSandboxes);
}

function portOf({ scheme, port }: FedRecord): string {
  return port === (scheme === 'https' ? 443 : 80) ? '' : `:${port}`;
}

function short(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText - 1)}…`;
}
