// Tells the open pages what happens: requests in batches, questions at once, the rest when it has changed. One sample and one
// text for all of them. A page that does not read is dropped; while none is open, nothing here runs.
import type { ServerResponse } from 'node:http';
import { type FedRecord, isRefused, lineOf } from './fed-record.ts';
import { safeJson } from './page-answer.ts';
import type { PageData, PartName } from './page-data.ts';
import type { PageSession } from './page-sessions.ts';
import type { FeedBatch, RequestLine } from './shapes.ts';

export interface PageStreamsOptions {
  readonly data: Pick<PageData, 'part'>;
  /** Somebody looks on until `signal` is aborted; `changed` is called when there is another question, or one less. */
  readonly watch: (signal: AbortSignal, changed: () => void) => void;
  /** A page that is open keeps its session. False: it has ended. */
  readonly touch: (session: PageSession) => boolean;
  readonly onFault: (what: string, error: unknown) => void;
}

interface Page {
  readonly session: PageSession;
  readonly response: ServerResponse;
  readonly leave: () => void;
}

const maxPages = 16;
/** A browser has six connections to one address, and one must be left for answers. */
const maxPagesOfSession = 4;
/** What may wait for a page that does not read, beside the largest text of those that it was sent. */
const maxWaitingBytes = 1024 * 1024;
const feedEveryMs = 250;
const partsEveryMs = 2_000;
const keepAliveMs = 15_000;
/** A hundred questions that come together are one change. */
const gatherQuestionsMs = 20;

const asked: readonly PartName[] = ['questions', 'approvals'];
const looked: readonly PartName[] = ['gateway', 'sandboxes', 'credentials', 'refusals', 'traffic', ...asked];

export class PageStreams {
  readonly #options: PageStreamsOptions;
  readonly #pages = new Set<Page>();
  readonly #told = new Map<PartName, string>();
  #sample = new FeedSample();
  #timers: NodeJS.Timeout[] = [];
  #gathering: NodeJS.Timeout | null = null;
  #watching: AbortController | null = null;
  /** One after the other, so that nobody is told the older last. */
  #telling: Promise<void> = Promise.resolve();
  #isBehind = false;
  #largestBytes = 0;

  constructor(options: PageStreamsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pages.size;
  }

  /** False: too many pages are open. The answer's other fields are set already. */
  add(session: PageSession, response: ServerResponse): boolean {
    const ofSession = [...this.#pages].filter((page) => page.session === session).length;
    if (this.#pages.size >= maxPages || ofSession >= maxPagesOfSession) return false;
    const leave = (): void => this.#remove(page);
    const page: Page = { session, response, leave };
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
    response.setTimeout(0);
    response.once('close', leave);
    response.on('error', leave);
    session.ended.addEventListener('abort', leave, { once: true });
    this.#pages.add(page);
    // It knows nothing yet: what was told to others is told again.
    this.#told.clear();
    if (this.#pages.size === 1) this.#begin();
    response.write(': open\n\n');
    return true;
  }

  /** One more request has ended. */
  take(record: FedRecord): void {
    if (this.#pages.size > 0) this.#sample.add(record);
  }

  sendFeed(): void {
    const batch = this.#sample.take();
    if (batch === null) return;
    this.#writeAll(eventText('requests', safeJson(batch)));
  }

  /** Those of them that are not what was told last. */
  sendParts(names: readonly PartName[] = looked): Promise<void> {
    this.#telling = this.#telling.then(async () => {
      for (const name of names) if (this.#pages.size > 0) await this.#sendPart(name);
    });
    return this.#telling;
  }

  /** An event and no comment, which no script hears: a page that hears nothing knows that it is cut off. */
  keepAlive(): void {
    for (const page of this.#pages) {
      if (this.#options.touch(page.session)) this.#write(page, eventText('alive', '{}'));
      else this.#remove(page);
    }
  }

  close(): void {
    for (const page of this.#pages) this.#remove(page);
  }

  async #sendPart(name: PartName): Promise<void> {
    try {
      const value = await this.#options.data.part(name);
      // What changes with the clock alone is no news.
      const known = JSON.stringify(name === 'gateway' ? { ...value, nowMs: 0 } : value);
      if (this.#told.get(name) === known) return;
      this.#told.set(name, known);
      this.#writeAll(eventText(name, safeJson(value)));
    } catch (error) {
      this.#options.onFault(`the dashboard could not be sent its ${name}`, error);
    }
  }

  #writeAll(text: string): void {
    this.#largestBytes = Math.max(this.#largestBytes, Buffer.byteLength(text));
    for (const page of this.#pages) this.#write(page, text);
  }

  /** A page that reads may still have all of a large text before it: thousands of sandboxes are one. */
  #write({ response, leave }: Page, text: string): void {
    response.write(text);
    if (response.writableLength > maxWaitingBytes + this.#largestBytes) leave();
  }

  #remove(page: Page): void {
    if (!this.#pages.delete(page)) return;
    page.session.ended.removeEventListener('abort', page.leave);
    page.response.destroy();
    if (this.#pages.size === 0) this.#end();
  }

  #begin(): void {
    this.#sample = new FeedSample();
    this.#largestBytes = 0;
    const watching = new AbortController();
    this.#watching = watching;
    this.#options.watch(watching.signal, () => this.#gatherQuestions());
    this.#timers = [
      setInterval(() => this.sendFeed(), feedEveryMs),
      setInterval(() => this.#look(), partsEveryMs),
      setInterval(() => this.keepAlive(), keepAliveMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  #end(): void {
    this.#watching?.abort();
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    this.#gathering = null;
    this.#timers = [];
  }

  #look(): void {
    // A store that answers slowly is not asked again before it has.
    if (this.#isBehind) return;
    this.#isBehind = true;
    void this.sendParts().finally(() => {
      this.#isBehind = false;
    });
  }

  #gatherQuestions(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      void this.sendParts(asked);
    }, gatherQuestionsMs);
  }
}

function eventText(name: string, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}

// Which requests the open pages are shown since the last update: all of a few, or a sample of many that says so. Never keeps
// more lines than a page may be sent, so that a thousand requests a second cost what forty do.
/** As many as a person can still read as they fly by, four times a second. */
const linesPerBatch = 40;
/** Whatever is refused, others are still seen to pass. */
const linesForOthers = 10;

interface Numbered {
  readonly at: number;
  readonly line: RequestLine;
}

export class FeedSample {
  #seen = 0;
  #refused: Numbered[] = [];
  #others: Numbered[] = [];
  /** Its newest, so that a quiet sandbox is not lost beside a loud one. */
  #lastOf = new Map<string, Numbered>();

  /** How many lines it holds. */
  get kept(): number {
    return this.#refused.length + this.#others.length + this.#lastOf.size;
  }

  add(record: FedRecord): void {
    const at = this.#seen++;
    const numbered = { at, line: lineOf(record) };
    keepNewest(isRefused(record) ? this.#refused : this.#others, numbered);
    const sandbox = record.sandbox ?? '';
    if (this.#lastOf.has(sandbox) || this.#lastOf.size < linesPerBatch) this.#lastOf.set(sandbox, numbered);
  }

  /** Null: nothing came. The newest first, as in the list it goes on top of. */
  take(): FeedBatch | null {
    if (this.#seen === 0) return null;
    const seen = this.#seen;
    const chosen = this.#choose();
    this.#seen = 0;
    this.#refused = [];
    this.#others = [];
    this.#lastOf = new Map();
    const lines = chosen.sort((a, b) => b.at - a.at).map(({ line }) => line);
    return { lines, seen, shown: lines.length };
  }

  #choose(): Numbered[] {
    const chosen = new Map<number, Numbered>();
    const take = (numbered: Numbered[], max: number): void => {
      for (const one of numbered) if (chosen.size < max) chosen.set(one.at, one);
    };
    const reserved = Math.min(linesForOthers, this.#others.length);
    take(this.#refused.reverse(), linesPerBatch - reserved);
    take([...this.#lastOf.values()], linesPerBatch);
    take(this.#others.reverse(), linesPerBatch);
    take(this.#refused, linesPerBatch);
    return [...chosen.values()];
  }
}

function keepNewest(kept: Numbered[], one: Numbered): void {
  if (kept.length >= linesPerBatch) kept.shift();
  kept.push(one);
}
