// Reads what a model's answer cost while the answer passes, from the same decoded bytes that are searched for credentials, so
// that nothing waits and nothing is kept. Reports to the flow's meter at the end of each answer, however it ended. On a
// WebSocket it reports after every answer, and the sandbox may only go on sending while there is budget left.
import { fieldsToSend } from '../../../path/enrich.ts';
import type { AnswerMeter } from '../../../path/exchange/answer-meter.ts';
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { Injected } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { type ScanSink, type UsagePlace, UsageScan } from './usage-scan.ts';
import { UsageTally } from './usage-tally.ts';

const switching = 101;
/** Conversations by voice: what is heard comes without end, and most of it asks nothing. */
const voice = /realtime|bidigenerate/i;
/** What comes of it are numbers without end, and no words of a model: Google does not say what they cost. */
const vectors = /(?::(?:batch)?embedcontents?|\/embed(?:dings)?)\/*$/i;

const readings = new WeakMap<Injected, UsageReading>();

/** The one reading of this flow's answer; null: it is not the answer of a model. */
export function readingOf(flow: Injected): UsageReading | null {
  const { meter } = flow;
  if (meter === undefined) return null;
  let reading = readings.get(flow);
  if (reading === undefined) {
    reading = new UsageReading(flow, meter);
    readings.set(flow, reading);
  }
  return reading;
}

export class UsageReading implements ScanSink {
  readonly #flow: Injected;
  readonly #meter: AnswerMeter;
  #tally = new UsageTally();
  #status = 0;
  #answers = 0;
  /** Messages that have begun: a ping may come inside another. */
  #openMessages = 0;
  /** By the clock of `performance.now()`: when the model could begin. */
  #askedAtMs: number;
  /** Of the request, up to the last answer on this WebSocket. */
  #countedBytesIn = 0;
  /** Messages went out on this WebSocket since its last answer. */
  #hasAsked = false;

  constructor(flow: Injected, meter: AnswerMeter) {
    this.#flow = flow;
    this.#meter = meter;
    this.#askedAtMs = flow.trail.startedMs;
  }

  /** The head of the final answer is here. `isCoded`: its body comes in a form that nobody takes off. */
  begin(status: number, isCoded: boolean): void {
    this.#status = status;
    this.#tally.isCoded = isCoded;
  }

  /** `scrub`, and what is searched is read, too. */
  beside(scrub: AnswerScrub): AnswerScrub {
    return {
      get replaced() {
        return scrub.replaced;
      },
      text: (text) => scrub.text(text),
      fields: (list) => scrub.fields(list),
      openBody: () => (this.#status === switching ? this.#openMessage(scrub) : this.#openBody(scrub)),
    };
  }

  /** What a sandbox sends over a WebSocket, to `to`. */
  whileInBudget(to: BodyWriter): BodyWriter {
    let isOver = false;
    return {
      get onDrain() {
        return to.onDrain;
      },
      set onDrain(act) {
        to.onDrain = act;
      },
      write: (chunk) => {
        if (isOver) return true;
        const refusal = this.#meter.over();
        // A ping while an answer comes is no question.
        if (this.#tally.isEmpty) this.#askedAtMs = performance.now();
        if (refusal === null) {
          this.#hasAsked ||= !isControlFrame(chunk);
          return to.write(chunk);
        }
        isOver = true;
        to.fail(refusal);
        return true;
      },
      flush: () => to.flush(),
      end: (trailers) => to.end(trailers),
      fail: (reason) => to.fail(reason),
    };
  }

  /** The flow is over: all of its answer has passed (null), or not. */
  end(failure: unknown): void {
    if (this.#status === switching) {
      const isWaiting = this.#hasAsked && !voice.test(this.#flow.canonical.path);
      if (this.#tally.isEmpty && !isWaiting && (this.#answers > 0 || this.#tally.bytes === 0)) return;
    } else if (this.#status === 0) {
      // Of what was never answered nothing is known but that the model was asked. An upstream that fails asks for nothing.
      if (!mayHaveBeenServed(failure) || this.#flow.exchange.bytesIn === 0) return;
    } else if (this.#status < 200 || this.#status > 299) return;
    this.#count(failure !== null || this.#status === switching);
  }

  #count(isCut: boolean): void {
    const { exchange } = this.#flow;
    const fields = fieldsToSend(this.#flow);
    const sentBytes = exchange.bytesIn - this.#countedBytesIn;
    const isMultipart = (fields.get('content-type') ?? '').trimStart().toLowerCase().startsWith('multipart/');
    const use = this.#meter.isRetrieval
      ? this.#tally.said(isCut)
      : this.#tally.use({
          // Files are no text: how many tokens are made of one is nothing to guess from its length.
          requestBytes: isMultipart ? sentBytes / 1024 : sentBytes,
          isRequestCoded: fields.has('content-encoding'),
          isCut,
          seconds: Math.max(0, performance.now() - this.#askedAtMs) / 1000,
        });
    this.#countedBytesIn = exchange.bytesIn;
    this.#hasAsked = false;
    this.#answers++;
    this.#tally = new UsageTally();
    if (use === null) return;
    const isVector = use.isEstimated && vectors.test(this.#flow.canonical.path);
    this.#meter.count(isVector ? { ...use, output: 0 } : use);
  }

  #openBody(scrub: AnswerScrub): BodyScrub {
    return this.#tapped(scrub.openBody(), new UsageEvents(new UsageScan(this)), () => {});
  }

  /** Every message is a document; some say that an answer is complete. */
  #openMessage(scrub: AnswerScrub): BodyScrub {
    this.#openMessages++;
    return this.#tapped(scrub.openBody(), new UsageScan(this), () => {
      this.#openMessages--;
      if (this.#openMessages === 0 && this.#tally.isOver) this.#count(false);
    });
  }

  #tapped(searched: BodyScrub, reader: { feed(chunk: Buffer): void }, onEnd: () => void): BodyScrub {
    return {
      get waiting() {
        return searched.waiting;
      },
      feed: (chunk) => {
        this.#tally.bytes += chunk.length;
        reader.feed(chunk);
        return searched.feed(chunk);
      },
      end: () => {
        onEnd();
        return searched.end();
      },
      release: () => searched.release(),
    };
  }

  // What is found belongs to the answer that is under way.

  onCount(where: UsagePlace, key: string, value: number): void {
    this.#tally.onCount(where, key, value);
  }

  onWord(where: UsagePlace, key: string, value: string): void {
    this.#tally.onWord(where, key, value);
  }

  onProse(bytes: number): void {
    this.#tally.onProse(bytes);
  }

  onError(): void {
    this.#tally.onError();
  }

  onTurnComplete(): void {
    this.#tally.onTurnComplete();
  }

  onBackground(): void {
    this.#tally.onBackground();
  }
}

/** A ping, a pong or a farewell of the client, masked, and nothing else: no question. */
function isControlFrame(chunk: Buffer): boolean {
  return chunk.length >= 6 && (chunk[0]! & 0x8) !== 0 && chunk.length === 6 + (chunk[1]! & 0x7f);
}

/** The client did not wait for the answer, or we did not: the model may be at work all the same. */
function mayHaveBeenServed(failure: unknown): boolean {
  if (failure instanceof ClientGone) return true;
  return failure instanceof Refusal && (failure.code === 'upstream.timeout' || failure.code === 'client.timeout');
}

/** Where answers are not searched: passes everything on as it is. */
export const noScrub: AnswerScrub = {
  replaced: 0,
  text: (text) => text,
  fields: () => {},
  openBody: () => ({ waiting: 0, feed: (chunk) => chunk, end: () => none, release: () => none }),
};
const none = Buffer.alloc(0);

// The documents of JSON in the body of an answer: one, a list, one after the other, or one in every event of a stream
// (text/event-stream). Told apart by how it begins, because a client has a say in what an answer calls itself. Keeps
// the name of one field at most.
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const maxNameBytes = 8;
/** A byte order mark and white space may stand before anything. */
const beforeAnything: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf, 0x20, 0x09, lineFeed, carriageReturn]);

export class UsageEvents {
  readonly #scan: UsageScan;
  #form: 'json' | 'events' | null = null;
  /** Of the line that is under way; null: its name is known. */
  #name: string | null = '';
  #isData = false;

  constructor(scan: UsageScan) {
    this.#scan = scan;
  }

  feed(chunk: Buffer): void {
    let at = 0;
    if (this.#form === null) {
      while (at < chunk.length && beforeAnything.has(chunk[at]!)) at++;
      if (at === chunk.length) return;
      this.#form = chunk[at] === 0x7b || chunk[at] === 0x5b ? 'json' : 'events';
    }
    if (this.#form === 'json') {
      this.#scan.feed(at === 0 ? chunk : chunk.subarray(at));
      return;
    }
    while (at < chunk.length) at = this.#name === null ? this.#takeValue(chunk, at) : this.#takeName(chunk, at);
  }

  #takeName(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === colon) {
        this.#isData = this.#name === 'data';
        this.#name = null;
        return at + 1;
      }
      if (byte === lineFeed) {
        // An empty line ends the event, and with it the document.
        if (this.#name === '') this.#scan.reset();
        this.#name = '';
      } else if (byte !== carriageReturn && this.#name!.length <= maxNameBytes) this.#name += String.fromCharCode(byte);
    }
    return chunk.length;
  }

  #takeValue(chunk: Buffer, from: number): number {
    const found = chunk.indexOf(lineFeed, from);
    const to = found < 0 ? chunk.length : found;
    if (this.#isData && to > from) this.#scan.feed(chunk.subarray(from, to));
    if (found < 0) return to;
    this.#name = '';
    return to + 1;
  }
}
