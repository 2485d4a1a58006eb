// An exchange whose answer cannot hold the credential that its request carried: status line, fields, interim answers,
// body and trailers are searched on their way to the client. An answer in a coding that we cannot read is not passed on.
// Never sees the credential: it only hands bytes to what inject/ made. // Guards: threats.md T30
import type { AnswerScrub } from '../flow/answer-scrub.ts';
import type { BodyWriter, Exchange, ResponseHead } from '../flow/exchange.ts';
import { ExchangeView } from '../flow/exchange-view.ts';
import type { Injected } from '../flow/flow.ts';
import type { HeaderList } from '../flow/header-list.ts';
import { learn } from '../flow/learn.ts';
import { codingOf, type DecodedCoding, decodeTo } from './decode-answer.ts';
import { scrubFramesTo } from './scrub-frames.ts';
import { ChunkingWriter, ScrubbingWriter, UnchunkingWriter } from './scrub-writers.ts';
import { unsafeAnswer } from './upstream-faults.ts';

/** The flow with its answer scrubbed, if its request carries a credential. */
export function scrubAnswer(flow: Injected): Injected {
  const { scrub } = flow.outgoing;
  if (scrub === null) return flow;
  const wrap = (end: Exchange): Exchange => new ScrubbedAnswer(end, scrub, flow);
  const { exchange } = flow;
  return learn(flow, { exchange: exchange instanceof ExchangeView ? exchange.wrapEnd(wrap) : wrap(exchange) });
}

class ScrubbedAnswer extends ExchangeView {
  readonly #scrub: AnswerScrub;
  readonly #flow: Injected;

  constructor(inner: Exchange, scrub: AnswerScrub, flow: Injected) {
    super(inner);
    this.#scrub = scrub;
    this.#flow = flow;
  }

  override inform(status: number, headers: HeaderList): void {
    this.#scrub.fields(headers);
    this.inner.inform(status, headers);
  }

  override respond(head: ResponseHead): BodyWriter {
    const { framing, status, headers } = head;
    this.#scrub.fields(headers);
    const reason = this.#scrub.text(head.reason);
    const bodyless = framing.kind === 'none' || (framing.kind === 'length' && framing.bytes === 0) || status === 101;
    if (bodyless) return this.inner.respond({ ...head, reason });
    const coding = this.#codingOf(headers);
    const passed: ResponseHead =
      coding === null ? { ...head, reason } : { ...head, reason, headers: decodedFields(headers), framing: chunked };
    const onWire = this.form === 'wire';
    let writer = this.inner.respond(passed);
    if (onWire && passed.framing.kind === 'chunked') writer = new ChunkingWriter(writer);
    writer = new ScrubbingWriter(writer, this.#scrub);
    if (coding !== null) writer = decodeTo(writer, coding);
    return onWire && framing.kind === 'chunked' ? new UnchunkingWriter(writer) : writer;
  }

  override goRaw(to: BodyWriter): BodyWriter {
    return scrubFramesTo(this.inner.goRaw(to), this.#scrub);
  }

  /** The coding to take off; null: none. */
  #codingOf(headers: HeaderList): DecodedCoding | null {
    const coding = codingOf(headers);
    if (coding !== 'unreadable') return coding;
    throw unsafeAnswer(
      this.#flow,
      'compressed its answer in a way that the gateway cannot read, though it was asked not to',
    );
  }
}

const chunked = { kind: 'chunked' } as const;

/** They speak of the bytes as they were compressed. */
const ofTheCoding: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'etag',
]);

function decodedFields(headers: HeaderList): HeaderList {
  return headers.without((key) => ofTheCoding.has(key));
}
