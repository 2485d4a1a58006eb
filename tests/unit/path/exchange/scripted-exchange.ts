// A conversation made by hand: the request body comes when the test says so, and everything that is done to the exchange
// or written to a body is remembered.
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from '../../../../src/path/exchange/exchange.ts';
import type { HeaderList } from '../../../../src/path/exchange/header-list.ts';

export class RecordingWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly chunks: Buffer[] = [];
  /** What `write` returns. */
  more = true;
  flushes = 0;
  /** The trailers that came with the end; undefined before it. */
  ended: HeaderList | null | undefined = undefined;
  failure: Error | null = null;

  get text(): string {
    return Buffer.concat(this.chunks).toString('latin1');
  }

  write(chunk: Buffer): boolean {
    this.chunks.push(chunk);
    return this.more;
  }

  flush(): void {
    this.flushes++;
  }

  end(trailers: HeaderList | null): void {
    this.ended = trailers;
  }

  fail(reason: Error): void {
    this.failure = reason;
  }
}

export class ScriptedExchange implements Exchange {
  readonly form: BodyForm;
  readonly requestFraming: Framing;
  bytesIn = 0;
  bytesOut = 0;
  answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  /** Who draws the body. */
  to: BodyWriter | null = null;
  head: ResponseHead | null = null;
  readonly body = new RecordingWriter();
  readonly calls: unknown[][] = [];
  /** Runs when the body is asked for. */
  onSendBody: ((to: BodyWriter) => void) | null = null;

  constructor(form: BodyForm = 'payload', requestFraming: Framing = { kind: 'chunked' }) {
    this.form = form;
    this.requestFraming = requestFraming;
  }

  asPayload(): Exchange {
    return this;
  }

  sendBody(to: BodyWriter): void {
    this.to = to;
    this.onSendBody?.(to);
  }

  inform(...args: [number, HeaderList]): void {
    this.calls.push(['inform', ...args]);
  }

  respond(head: ResponseHead): BodyWriter {
    this.answered = true;
    this.head = head;
    return this.body;
  }

  goRaw(to: BodyWriter): BodyWriter {
    this.calls.push(['goRaw', to]);
    return this.body;
  }

  answer(...args: [number, HeaderList, Buffer]): void {
    this.answered = true;
    this.calls.push(['answer', ...args]);
  }

  abort(): void {
    this.calls.push(['abort']);
  }
}

/** Sends `chunks` whenever the body is asked for, waiting where the reader asks to. */
export function withBody(chunks: readonly Buffer[], end: 'ends' | 'goes on' = 'ends'): ScriptedExchange {
  const exchange = new ScriptedExchange();
  const left = [...chunks];
  exchange.onSendBody = (to) => {
    const go = (): void => {
      for (let chunk = left.shift(); chunk !== undefined; chunk = left.shift()) {
        exchange.bytesIn += chunk.length;
        if (!to.write(chunk)) return;
      }
      if (end === 'ends') to.end(null);
    };
    to.onDrain = () => setImmediate(go);
    go();
  };
  return exchange;
}
