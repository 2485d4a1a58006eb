// Searches everything that a sandbox sends, before a credential goes in: a placeholder may only go to the hosts of its
// credential, a real value nowhere. Anything else is refused and recorded as an incident, without the value.
import { fieldsToSend } from '../../../path/enrich.ts';
import type { BodyWriter, Exchange, ResponseHead } from '../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../path/exchange/exchange-view.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Authorized } from '../../../path/flow.ts';
import { passesUnread } from '../../../path/passes-unread.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { HostPlans } from '../host-plan.ts';
import type { KnownSecrets } from '../scrub/known-secrets.ts';
import { OutboundBody } from './outbound-body.ts';
import { codingOf } from './outbound-decode.ts';
import { OutboundFrames } from './outbound-frames.ts';
import { OutboundHead } from './outbound-head.ts';
import { OutboundJudge, type OutboundPlace, type OutboundPorts } from './outbound-judge.ts';
import { OutboundSigns, type Sign } from './outbound-signs.ts';
import { type OutboundReader, SearchedWriter } from './outbound-writer.ts';

const inMessage: OutboundPlace = { kind: 'message', words: 'a message' };

export class OutboundGuard {
  readonly #policy: () => CompiledPolicy;
  readonly #signs: OutboundSigns;
  readonly #head: OutboundHead;
  readonly #judge: OutboundJudge;
  readonly #plans = new HostPlans();

  constructor(known: KnownSecrets, policy: () => CompiledPolicy, ports: OutboundPorts) {
    this.#policy = policy;
    this.#signs = new OutboundSigns(known, policy);
    this.#head = new OutboundHead(this.#signs);
    this.#judge = new OutboundJudge(policy, ports);
  }

  /** Throws a Refusal. Of a tunnel there is only the name of the host to look at. */
  checkHead(flow: Authorized): void {
    const { host } = flow.canonical;
    const isAtHome = (sign: Sign): boolean => this.#judge.isAtHome(sign, host);
    if (!this.#head.isSuspect(flow, isAtHome)) return;
    const plan = this.#plans.planFor(this.#policy(), host);
    for (const [sign, place] of this.#head.explain(flow, plan, isAtHome)) this.#judge.judge(flow, sign, place);
  }

  /** The exchange with all that it sends searched on its way out. A refusal breaks the request off. */
  guardBody(flow: Authorized, exchange: Exchange): Exchange {
    const { canonical, permission } = flow;
    if (permission.tunnel || passesUnread(canonical.kind) || canonical.kind === 'connect') return exchange;
    if (canonical.kind === 'websocket') {
      return new GuardedMessages(exchange, (mayDeflate) => this.#readMessages(flow, mayDeflate));
    }
    if (exchange.requestFraming.kind === 'none') return exchange;
    return new GuardedBody(exchange, (isChunked) => this.#readBody(flow, isChunked));
  }

  /** The text without real values, for what is written down about a request. */
  masked(text: string): string {
    return this.#head.masked(text);
  }

  #readBody(flow: Authorized, isChunked: boolean): OutboundReader {
    return new OutboundBody({
      signs: this.#signs,
      maxBytes: this.#policy().secrets.searchedBodyBytes,
      coding: codingOf(fieldsToSend(flow)),
      isChunked,
      onFound: (sign, words) => this.#judge.judge(flow, sign, { kind: 'body', words }),
      checkTrailers: (trailers) => this.#checkTrailers(flow, trailers),
    });
  }

  #readMessages(flow: Authorized, mayDeflate: boolean): OutboundReader {
    return new OutboundFrames({
      sandboxId: flow.sandbox.id,
      signs: this.#signs,
      maxBytes: this.#policy().secrets.searchedBodyBytes,
      mayDeflate,
      onFound: (sign) => this.#judge.judge(flow, sign, inMessage),
    });
  }

  #checkTrailers(flow: Authorized, trailers: HeaderList): void {
    const { host } = flow.canonical;
    const isAtHome = (sign: Sign): boolean => this.#judge.isAtHome(sign, host);
    for (const [sign, place] of this.#head.inTrailers(trailers, isAtHome)) this.#judge.judge(flow, sign, place);
  }
}

class GuardedBody extends ExchangeView {
  readonly #read: (isChunked: boolean) => OutboundReader;

  constructor(inner: Exchange, read: (isChunked: boolean) => OutboundReader) {
    super(inner);
    this.#read = read;
  }

  override sendBody(to: BodyWriter): void {
    const isChunked = this.form === 'wire' && this.requestFraming.kind === 'chunked';
    this.inner.sendBody(new SearchedWriter(to, this.#read(isChunked)));
  }
}

class GuardedMessages extends ExchangeView {
  readonly #read: (mayDeflate: boolean) => OutboundReader;
  #mayDeflate = false;

  constructor(inner: Exchange, read: (mayDeflate: boolean) => OutboundReader) {
    super(inner);
    this.#read = read;
  }

  /** What the upstream agrees on is how the client may write. */
  override respond(head: ResponseHead): BodyWriter {
    const agreed = head.headers.getAll('sec-websocket-extensions');
    this.#mayDeflate = agreed.some((value) => /\bpermessage-deflate\b/i.test(value));
    return this.inner.respond(head);
  }

  override goRaw(to: BodyWriter): BodyWriter {
    return this.inner.goRaw(new SearchedWriter(to, this.#read(this.#mayDeflate)));
  }
}
