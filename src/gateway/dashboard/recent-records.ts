// The newest records, whole, for whoever opens one of them. Kept as text: it is as large as it looks and holds on to nothing
// that a sandbox sent beside it. Bounded in number and bytes; older ones are in the journal.
import { detached, type FedRecord, lineOf } from './fed-record.ts';
import type { RequestDetail, RequestLine, RulePlace } from './shapes.ts';

const usualCount = 2_000;
/** Four KiB each, where a usual record has one or two. */
const usualBytes = 8 * 1024 * 1024;

interface KeptRecord {
  readonly id: string;
  readonly json: string;
  /** One object for all records of a rule. */
  readonly place: RulePlace | null;
}

export class RecentRecords {
  readonly #maxBytes: number;
  readonly #ring: (KeptRecord | undefined)[];
  readonly #byId = new Map<string, KeptRecord>();
  /** How many ever came, and how many of them were let go. */
  #added = 0;
  #dropped = 0;
  #bytes = 0;

  constructor({ maxCount = usualCount, maxBytes = usualBytes } = {}) {
    this.#maxBytes = maxBytes;
    this.#ring = new Array<KeptRecord | undefined>(maxCount);
  }

  get size(): number {
    return this.#added - this.#dropped;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(record: FedRecord, place: RulePlace | null = null): void {
    if (this.size === this.#ring.length) this.#dropOldest();
    const kept = { id: detached(record.id), json: JSON.stringify(record), place };
    this.#ring[this.#added++ % this.#ring.length] = kept;
    this.#byId.set(kept.id, kept);
    this.#bytes += weightOf(kept);
    while (this.#bytes > this.#maxBytes) this.#dropOldest();
  }

  find(id: string): RequestDetail | null {
    const kept = this.#byId.get(id);
    if (kept === undefined) return null;
    return { record: JSON.parse(kept.json) as RequestDetail['record'], place: kept.place };
  }

  /** The newest first. */
  newest(count: number): RequestLine[] {
    const lines: RequestLine[] = [];
    for (let at = this.#added - 1; at >= this.#dropped && lines.length < count; at--) {
      const kept = this.#ring[at % this.#ring.length];
      if (kept !== undefined) lines.push(lineOf(JSON.parse(kept.json) as FedRecord));
    }
    return lines;
  }

  #dropOldest(): void {
    const at = this.#dropped++ % this.#ring.length;
    const oldest = this.#ring[at];
    this.#ring[at] = undefined;
    if (oldest === undefined) return;
    this.#bytes -= weightOf(oldest);
    if (this.#byId.get(oldest.id) === oldest) this.#byId.delete(oldest.id);
  }
}

/** At most two bytes a character in memory. */
function weightOf({ json }: KeptRecord): number {
  return json.length * 2;
}
