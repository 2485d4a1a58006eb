// What `sallyport watch` knows and what its keys do: requests as they come, questions that wait, which of them is selected. No
// terminal and no socket: it is told events and keys, and says what is to be done. Keeps a bounded number of everything.
import type { Question } from '../../path/approvals.ts';
import { nothingUnfinished, splitKeys, type Unfinished } from './split-keys.ts';

/** A request in the feed, or a note of the journal. Texts are still as they came. */
export type FeedRecord = Readonly<Record<string, unknown>>;

export interface WatchedGateway {
  readonly ready: boolean;
  readonly version: string;
  readonly sandboxes: number;
}

export type Action =
  | { readonly do: 'quit' }
  | { readonly do: 'answer'; readonly id: string; readonly body: WatchAnswer }
  | { readonly do: 'nothing' };

export type WatchAnswer =
  | { readonly answer: 'deny' }
  | { readonly answer: 'approve'; readonly for: 'once' }
  | { readonly answer: 'approve'; readonly for: 'minutes'; readonly minutes: number; readonly scope: 'path' };

const keptRecords = 1_000;
const maxFilter = 100;
const minutes = 15;
/** The rate is that of so many whole seconds. */
const rateSeconds = 5;
/**
 * A question that moved into the place of another by itself is not answered by a key that was meant for that one. So long as
 * hands need to notice.
 */
export const settlingMs = 700;

const nothing: Action = { do: 'nothing' };

export class WatchView {
  gateway: WatchedGateway | null = null;
  /** What was said last: of an answer, of a connection. */
  message = '';
  seen = 0;
  refused = 0;
  /** Events that the gateway had to leave out for us. */
  lost = 0;
  filter = '';
  isTyping = false;
  refusedOnly = false;
  readonly #records: FeedRecord[] = [];
  /** Apart: on a busy gateway they would be gone from among the others at once. */
  readonly #refusals: FeedRecord[] = [];
  #frozen: { readonly all: readonly FeedRecord[]; readonly refusals: readonly FeedRecord[] } | null = null;
  readonly #questions = new Map<string, Question>();
  readonly #perSecond = new Map<number, number>();
  #unfinished: Unfinished = nothingUnfinished;
  #selected: string | null = null;
  #selectedAtMs = Number.NEGATIVE_INFINITY;

  get isPaused(): boolean {
    return this.#frozen !== null;
  }

  get questions(): readonly Question[] {
    return [...this.#questions.values()];
  }

  get selected(): Question | null {
    return this.#selected === null ? null : (this.#questions.get(this.#selected) ?? null);
  }

  /** The newest last. */
  get records(): readonly FeedRecord[] {
    const { all, refusals } = this.#frozen ?? { all: this.#records, refusals: this.#refusals };
    const shown = this.refusedOnly ? refusals : all;
    if (this.filter === '') return shown;
    const wanted = this.filter.toLowerCase();
    return shown.filter((record) => searched(record).includes(wanted));
  }

  rate(nowMs: number): number {
    const now = Math.floor(nowMs / 1000);
    let count = 0;
    for (let second = now - rateSeconds; second < now; second++) count += this.#perSecond.get(second) ?? 0;
    return count / rateSeconds;
  }

  hear(event: FeedRecord, nowMs: number): void {
    const data = isMap(event.data) ? event.data : {};
    if (event.event === 'request') this.#hearRecord(data, nowMs);
    if (event.event === 'lost' && typeof data.count === 'number') this.lost += data.count;
    if (typeof data.id !== 'string') return;
    if (event.event === 'answered') this.#forget(data.id, nowMs);
    if (event.event !== 'question') return;
    this.#questions.set(data.id, data as unknown as Question);
    if (this.selected === null) this.#moveTo(data.id, nowMs);
  }

  /** Another gateway, or the same one anew: it tells its questions again. */
  startAnew(nowMs: number): void {
    this.gateway = null;
    for (const id of [...this.#questions.keys()]) this.#forget(id, nowMs);
  }

  /** What a terminal sent at once. A text that was pasted is typed where text is, and presses no keys. */
  type(chunk: string, nowMs: number): readonly Action[] {
    const { keys, pasted, unfinished } = splitKeys(chunk, this.#unfinished);
    this.#unfinished = unfinished;
    if (this.isTyping) for (const character of pasted) this.#typeFilter(character);
    return keys.map((key) => this.press(key, nowMs));
  }

  press(key: string, nowMs: number): Action {
    if (this.isTyping) return this.#typeFilter(key);
    switch (key) {
      case 'q':
      case '\u0003':
        return { do: 'quit' };
      case '\u001b[A':
      case '\u001bOA':
      case 'k':
        return this.#step(-1);
      case '\u001b[B':
      case '\u001bOB':
      case 'j':
        return this.#step(1);
      case 'a':
        return this.#answer({ answer: 'approve', for: 'once' }, nowMs);
      case 'm':
        return this.#answer({ answer: 'approve', for: 'minutes', minutes, scope: 'path' }, nowMs);
      case 'd':
        return this.#answer({ answer: 'deny' }, nowMs);
      case 'r':
        this.refusedOnly = !this.refusedOnly;
        return nothing;
      case 'p':
        this.#frozen = this.#frozen === null ? { all: [...this.#records], refusals: [...this.#refusals] } : null;
        return nothing;
      case 'f':
      case '/':
        this.isTyping = true;
        return nothing;
      default:
        return nothing;
    }
  }

  #hearRecord(record: FeedRecord, nowMs: number): void {
    keep(this.#records, record);
    // The journal speaks of itself, too: that is no request.
    if (typeof record.note === 'string') return;
    this.seen++;
    const second = Math.floor(nowMs / 1000);
    this.#perSecond.set(second, (this.#perSecond.get(second) ?? 0) + 1);
    for (const old of this.#perSecond.keys()) if (old < second - rateSeconds) this.#perSecond.delete(old);
    if (record.verdict !== 'refused') return;
    this.refused++;
    keep(this.#refusals, record);
  }

  #forget(id: string, nowMs: number): void {
    const at = [...this.#questions.keys()].indexOf(id);
    if (!this.#questions.delete(id) || this.#selected !== id) return;
    const left = [...this.#questions.keys()];
    this.#moveTo(left[Math.min(at, left.length - 1)] ?? null, nowMs);
  }

  /** The selection moved without a key. */
  #moveTo(id: string | null, nowMs: number): void {
    this.#selected = id;
    this.#selectedAtMs = nowMs;
  }

  #step(by: number): Action {
    const ids = [...this.#questions.keys()];
    const at = ids.indexOf(this.#selected ?? '');
    const next = ids[Math.max(0, Math.min(ids.length - 1, at + by))];
    if (next !== undefined) {
      this.#selected = next;
      // Whoever presses this key looks at what it selects.
      this.#selectedAtMs = Number.NEGATIVE_INFINITY;
    }
    return nothing;
  }

  #answer(body: WatchAnswer, nowMs: number): Action {
    const { selected } = this;
    if (selected === null) {
      this.message = 'nothing waits for an answer';
      return nothing;
    }
    if (nowMs - this.#selectedAtMs < settlingMs) {
      this.message = `${selected.id} has just come: look at it, then press the key again`;
      return nothing;
    }
    return { do: 'answer', id: selected.id, body };
  }

  #typeFilter(key: string): Action {
    if (key === '\u0003') return { do: 'quit' };
    if (key === '\r' || key === '\n' || key === '\u001b') this.isTyping = false;
    if (key === '\u001b' || key === '\u0015') this.filter = '';
    else if (key === '\u007f' || key === '\b') this.filter = this.filter.slice(0, -1);
    else if (key >= ' ' && !key.startsWith('\u001b') && this.filter.length < maxFilter) this.filter += key;
    return nothing;
  }
}

function keep(records: FeedRecord[], record: FeedRecord): void {
  records.push(record);
  // In lots: to shift a long list for each record costs more than the record.
  if (records.length >= keptRecords * 2) records.splice(0, records.length - keptRecords);
}

function searched({ sandbox, verdict, status, method, host, path, code, text }: FeedRecord): string {
  return [sandbox, verdict, status, method, `${host ?? ''}${path ?? ''}`, code, text].join(' ').toLowerCase();
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
