// A client's end that keeps what it is given, and the exchange that searches what goes there, for tests of scrubbing.
import type { AnswerScrub } from '../../../../../src/path/exchange/answer-scrub.ts';
import type {
  BodyForm,
  BodyWriter,
  Exchange,
  Framing,
  ResponseHead,
} from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../../src/path/exchange/outgoing-request.ts';
import { addWrapper, wrappedExchange } from '../../../../../src/path/exchange/wrappers.ts';
import type { Injected } from '../../../../../src/path/flow.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import { scrubAnswer } from '../../../../../src/stages/forward/answer/scrubbed-answer.ts';
import type { Wrapped } from '../../../../../src/stages/forward/relay/relay-settings.ts';
import { scrubFor } from '../../../../../src/stages/inject/scrub/secret-scrub.ts';
import { acceptedFlow, callerFrom, canonicalOf } from '../../../../support/hand-made-flow.ts';

export const key = 'key-0123456789';
export const masked = '*'.repeat(key.length);

export function keyScrub(): AnswerScrub {
  return scrubFor(new Secret('key', key))!;
}

/** The client's end: keeps what it is given. */
export class ClientEnd implements BodyWriter {
  onDrain: (() => void) | null = null;
  onAbandoned: (() => void) | null = null;
  answered = false;
  head: ResponseHead | null = null;
  trailers: HeaderList | null = null;
  over: 'no' | 'whole' | 'failed' = 'no';
  flushed = false;
  hasRoom = true;
  readonly form: BodyForm;
  readonly #chunks: Buffer[] = [];
  #wake: () => void = () => {};

  constructor(form: BodyForm) {
    this.form = form;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.bytes.toString('latin1');
  }

  respond(head: ResponseHead): BodyWriter {
    this.answered = true;
    this.head = head;
    return this;
  }

  goRaw(): BodyWriter {
    return this;
  }

  write(chunk: Buffer): boolean {
    this.#chunks.push(Buffer.from(chunk));
    this.#wake();
    return this.hasRoom;
  }

  flush(): void {
    this.flushed = true;
  }

  end(trailers: HeaderList | null): void {
    this.over = 'whole';
    this.trailers = trailers;
    this.#wake();
  }

  fail(): void {
    this.over = 'failed';
    this.#wake();
  }

  /** Lets it take more, after it had no room. */
  makeRoom(): void {
    this.hasRoom = true;
    this.onDrain?.();
  }

  /** Until what it has been given satisfies `when`. */
  async until(when: (end: this) => boolean): Promise<void> {
    while (!when(this)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export interface Asked {
  /** Fields that went out with the request. */
  readonly outgoing?: readonly [string, string][];
  /** Fields that came from the client. */
  readonly request?: readonly [string, string][];
  readonly view?: (end: Exchange) => Exchange;
  readonly scrub?: AnswerScrub;
}

export function scrubbedFlow(end: ClientEnd, asked: Asked = {}): Wrapped {
  const flow = acceptedFlow(callerFrom(), canonicalOf('GET', 'https://api.example/'), {
    headers: HeaderList.from(asked.request ?? []),
  });
  const outgoing = new OutgoingRequest('/', HeaderList.from(asked.outgoing ?? []), {
    scrub: asked.scrub ?? keyScrub(),
  });
  const client = end as unknown as Exchange;
  const injected = { ...flow, sandbox: { id: 'sbx_scrubbed' }, exchange: client, outgoing } as unknown as Injected;
  if (asked.view !== undefined) addWrapper(injected, 'rewritten', asked.view);
  addWrapper(injected, 'scrubbed', (inner) => scrubAnswer(inner, injected));
  return Object.assign(injected, { wrapped: wrappedExchange(injected) });
}

export function scrubbed(end: ClientEnd, asked: Asked = {}): Exchange {
  return scrubbedFlow(end, asked).wrapped;
}

export function head(framing: Framing, fields: readonly [string, string][] = [], status = 200): ResponseHead {
  return { status, reason: 'OK', headers: HeaderList.from(fields), framing };
}

/** Writes in pieces of these sizes, then the rest, waiting where it is asked to. */
export async function pour(writer: BodyWriter, bytes: Buffer, sizes: readonly number[] = []): Promise<void> {
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    const piece = bytes.subarray(at, at + size);
    at += piece.length;
    if (piece.length === 0 || writer.write(piece)) continue;
    await new Promise<void>((resolve) => {
      writer.onDrain = resolve;
    });
  }
}
