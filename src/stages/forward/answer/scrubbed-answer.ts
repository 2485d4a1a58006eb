// An exchange whose answer cannot hold a credential: status line, fields, interim answers, body, trailers and messages of
// a WebSocket are searched on their way to the client, compressed ones too. An answer that we cannot read is not passed
// on. Never sees a credential: it only hands bytes to what inject/ made. // Guards: threats.md T30

import { FrameFlood, TooManyFrames } from '../../../kit/floods/websocket-flood.ts';
import { fieldsToSend } from '../../../path/enrich.ts';
import type { AnswerScrub } from '../../../path/exchange/answer-scrub.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { BodyWriter, Exchange, ResponseHead } from '../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../path/exchange/exchange-view.ts';
import { tooManyFrames } from '../../../path/exchange/frame-flood.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Forwarded, Injected } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { ContentCoding } from '../../../protocols/http/content-coding.ts';
import { Http1Error } from '../../../protocols/http1/http1-error.ts';
import { UnwritableField } from '../../../protocols/http2/hpack-encoder.ts';
import { agreedExtension } from '../../../protocols/websocket/websocket-extensions.ts';
import { UnreadableFrame } from '../../../protocols/websocket/websocket-frames.ts';
import { lastOutgoing } from '../relay/request-head.ts';
import { unsafeAnswer } from '../relay/upstream-faults.ts';
import { codingOf, DecodingWriter, isAskedFor } from './decode-answer.ts';
import { InflatingWriter } from './deflate-frames.ts';
import { knownValidator, RecodingWriter, recodedFields } from './recode-answer.ts';
import { CredentialInFile, UnaskedWriter } from './recode-answer-unasked.ts';
import { FrameScrub, FramesToClient } from './scrub-frames.ts';
import { ChunkingWriter, ScrubbingWriter, UnchunkingWriter } from './scrub-writers.ts';
import { noScrub, readingOf, type UsageReading } from './usage-reading.ts';

/**
 * `end` with its answer scrubbed, if there is anything to search it for, and read, if it is that of a model. The frames of a
 * WebSocket are read in any case: only who knows where one ends can end the conversation as it is meant to end.
 */
export function scrubAnswer(end: Exchange, flow: Injected): Exchange {
  const { scrub, renew } = flow.outgoing;
  const isRead = scrub !== null || renew !== null || flow.meter !== undefined || flow.canonical.kind === 'websocket';
  return isRead ? new ScrubbedAnswer(end, flow) : end;
}

/** Compressed answers that are still being read after their last byte came. */
const underway = new WeakMap<Injected, Promise<void>>();

/** `relayed`, when all of the answer was passed on: only then is it known what was found in it, and that it was whole. */
export function untilPassedOn(flow: Injected, relayed: Promise<Forwarded>): Promise<Forwarded> {
  const reading = readingOf(flow);
  const isWebSocket = flow.canonical.kind === 'websocket';
  if (flow.outgoing.scrub === null && reading === null && !isWebSocket) return relayed;
  const passed = relayed.then(
    (done) => underway.get(flow)?.then(() => done) ?? done,
    async (error: unknown) => {
      // The client did not go: it was cut off from an answer that turned out bad. Or messages before a bad one are on their way.
      if (error instanceof ClientGone || isBadFrame(error)) await underway.get(flow);
      throw error;
    },
  );
  return reading === null ? passed : untilCounted(reading, passed);
}

function isBadFrame(error: unknown): boolean {
  return error instanceof Refusal && error.cause instanceof UnreadableFrame;
}

function untilCounted(reading: UsageReading, passed: Promise<Forwarded>): Promise<Forwarded> {
  return passed.then(
    (done) => {
      reading.end(null);
      return done;
    },
    (error: unknown) => {
      reading.end(error);
      throw error;
    },
  );
}

const chunked = { kind: 'chunked' } as const;
const partialContent = 206;

class ScrubbedAnswer extends ExchangeView {
  readonly #reading: UsageReading | null;
  readonly #flow: Injected;
  #scrub: AnswerScrub = noScrub;
  #isDeflated = false;

  constructor(inner: Exchange, flow: Injected) {
    super(inner);
    this.#reading = readingOf(flow);
    this.#flow = flow;
  }

  /** Null: it is not searched. Not before it comes is it known which try is answered: each has its own credential. */
  get #search(): AnswerScrub | null {
    return lastOutgoing(this.#flow).scrub;
  }

  override inform(status: number, headers: HeaderList): void {
    this.#search?.fields(headers);
    this.inner.inform(status, headers);
  }

  override respond(head: ResponseHead): BodyWriter {
    const { framing, status, headers } = head;
    const search = this.#search;
    if (status === 101) this.#isDeflated = this.#agreedToDeflate(headers);
    if (search === null && this.#reading === null) return this.inner.respond(head);
    this.#scrub = this.#reading === null ? search! : this.#reading.beside(search ?? noScrub);
    const coding = codingOf(headers);
    this.#reading?.begin(status, coding === 'unreadable' || (coding !== null && status === partialContent));
    this.#scrub.fields(headers);
    const clean: ResponseHead = { status, reason: this.#scrub.text(head.reason), headers, framing };
    const bodyless = framing.kind === 'none' || (framing.kind === 'length' && framing.bytes === 0) || status === 101;
    if (bodyless) return this.inner.respond(this.#withoutBody(clean, coding));
    // A part of a compressed body cannot be decompressed by itself, by nobody: it is searched as it is.
    if (coding === null || status === partialContent) return this.#plain(clean);
    if (coding === 'unreadable') {
      if (search !== null) throw unreadable(this.#flow, headers);
      return this.#plain(clean);
    }
    return this.#coded(clean, coding);
  }

  override goRaw(to: BodyWriter): BodyWriter {
    const isSearched = this.#search !== null || this.#reading !== null;
    const client = this.#reading === null ? to : this.#reading.whileInBudget(to);
    const flood = new FrameFlood(`${this.#flow.sandbox.id} upstream`);
    const isUnfolded = isSearched && this.#isDeflated;
    // What is unfolded first is counted there.
    const frames = new FrameScrub(this.#scrub, isUnfolded ? null : flood, this.#isDeflated && !isUnfolded);
    const searched = new FramesToClient(this.inner.goRaw(client), frames, (fault) => {
      const refusal = this.#frameFault(fault);
      // The upstream is told too, and the record says why.
      to.fail(refusal);
      return refusal;
    });
    if (!isUnfolded) return searched;
    const note = this.#follow();
    return this.#untilAbandoned(new InflatingWriter(searched, flood, () => note(null)));
  }

  #frameFault(fault: Error): Refusal {
    const { host } = this.#flow.canonical;
    if (fault instanceof TooManyFrames) return tooManyFrames(host, fault);
    return unsafeAnswer(this.#flow, `sent a WebSocket message that cannot be read: ${fault.message}`, fault);
  }

  #plain(head: ResponseHead): BodyWriter {
    const writer = new ScrubbingWriter(this.#open(head), this.#scrub);
    return this.form === 'wire' && head.framing.kind === 'chunked' ? new UnchunkingWriter(writer) : writer;
  }

  #coded(head: ResponseHead, coding: ContentCoding): BodyWriter {
    const note = this.#follow();
    const openRecoded = (): BodyWriter => {
      const passed = { ...head, headers: recodedFields(head.headers), framing: chunked };
      return new RecodingWriter(this.#open(passed), coding, note);
    };
    const writer = this.#isRecoded(coding)
      ? new DecodingWriter(new ScrubbingWriter(openRecoded(), this.#scrub), coding)
      : new UnaskedWriter(coding, this.#scrub, { openAsItCame: () => this.#open(head), openRecoded, onOver: note });
    this.#untilAbandoned(writer);
    return this.form === 'wire' && head.framing.kind === 'chunked' ? new UnchunkingWriter(writer) : writer;
  }

  /** Gives the head; takes content, whatever form it goes on in. */
  #open(head: ResponseHead): BodyWriter {
    const writer = this.inner.respond(head);
    return this.form === 'wire' && head.framing.kind === 'chunked' ? new ChunkingWriter(writer) : writer;
  }

  /** A client that goes may go after the upstream has sent all: then nobody else tells the writer. */
  #untilAbandoned(writer: BodyWriter): BodyWriter {
    const before = this.inner.onAbandoned;
    this.inner.onAbandoned = () => {
      writer.fail(new ClientGone());
      before?.();
    };
    return writer;
  }

  /** Notes that this answer is under way; what is returned notes that it is over. */
  #follow(): (failure: Error | null) => void {
    let note: (failure: Error | null) => void = () => {};
    const over = new Promise<void>((resolve, reject) => {
      note = (failure) => (failure === null ? resolve() : reject(this.#failureOf(failure)));
    });
    // Nobody may be asking.
    over.catch(() => {});
    underway.set(this.#flow, over);
    return note;
  }

  #failureOf(cause: Error): Error {
    if (cause instanceof Refusal || cause instanceof ClientGone) return cause;
    if (cause instanceof CredentialInFile) {
      return unsafeAnswer(
        this.#flow,
        'sent a credential back inside a compressed body that the client did not ask for: it was cut off',
        cause,
      );
    }
    // What http1/ and http2/ throw at what they cannot read or write.
    if (cause instanceof UnwritableField || cause instanceof Http1Error) {
      return unsafeAnswer(this.#flow, 'sent fields that cannot be passed on', cause);
    }
    return unsafeAnswer(this.#flow, 'sent a compressed body that cannot be decompressed to its end', cause);
  }

  /** An answer to HEAD says what that to GET would say. */
  #withoutBody(head: ResponseHead, coding: ContentCoding | 'unreadable' | null): ResponseHead {
    const { status, headers, framing } = head;
    if (status === 304) {
      return { ...head, headers: knownValidator(headers, fieldsToSend(this.#flow).getAll('if-none-match')) };
    }
    const isCoded = coding !== null && coding !== 'unreadable' && framing.kind === 'none' && status >= 200;
    return isCoded && this.#isRecoded(coding) ? { ...head, headers: recodedFields(headers) } : head;
  }

  /** Null as to who asked for nothing: the request that went out says what the client can read. */
  #isRecoded(coding: ContentCoding): boolean {
    return isAskedFor(coding, lastOutgoing(this.#flow).headers.getAll('accept-encoding').join(','));
  }

  #agreedToDeflate(headers: HeaderList): boolean {
    const offered = lastOutgoing(this.#flow).headers.getAll('sec-websocket-extensions');
    const agreed = agreedExtension(offered, headers.getAll('sec-websocket-extensions'));
    if (agreed !== undefined) return agreed !== null;
    throw unsafeAnswer(this.#flow, 'agreed on an extension of WebSocket that it was not offered');
  }
}

function unreadable(flow: Injected, headers: HeaderList): Refusal {
  const named = [...headers.getAll('content-encoding'), ...headers.getAll('grpc-encoding')].join(', ');
  const what = /^[\w ,.-]{1,60}$/.test(named) ? ` (${named})` : '';
  return unsafeAnswer(
    flow,
    `compressed its answer in a way that the gateway cannot search for credentials${what}: it was offered gzip, deflate and br at most`,
  );
}
