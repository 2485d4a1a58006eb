// What stands between a client and its upstream, in one order for every request. A stage adds a wrapper under its own name
// and never looks at the others: where each stands is said here, and not by who came first. What nobody adds is not there.
import { enrich } from '../enrich.ts';
import type { Exchange } from './exchange.ts';

/** The same conversation, with one thing done to what passes. */
export type Wrap = (inner: Exchange) => Exchange;

/** What the wrappers of one request are made of. Every one is added by one stage. */
export interface Wrappable {
  /** The client's own end, as it arrived. Every answer of our own is given here. */
  readonly exchange: Exchange;
  /** The same end in payload form, from when a stage has asked for it: in place of `exchange` for all that wraps it. */
  readonly payload?: Exchange;

  /**
   * forward: no credential is in what the client gets. Decoded, read for what it cost (metering), searched, and coded as it
   * was (recoding). -> stages/forward/answer/scrubbed-answer.ts
   */
  readonly scrubbed?: Wrap;
  /** authorize: bytes are counted both ways, and slowed down to what is left. -> stages/authorize/limits/paced-exchange.ts */
  readonly paced?: Wrap;
  /** authorize: the body is the one that was judged (git, LFS, GitHub). -> replaced-body.ts */
  readonly replaced?: Wrap;
  /** authorize: the answer says only what it may (git, LFS). -> rewritten-answer.ts */
  readonly rewritten?: Wrap;
  /** inject: a git server that asks for a login is explained, where there is none. -> stages/inject/explain-login.ts */
  readonly explained?: Wrap;
  /** inject: no credential is in what the sandbox sends. -> stages/inject/guard/outbound-guard.ts */
  readonly guarded?: Wrap;
  /** inject: the body is the one that a credential was put into, or that was signed with one. -> stages/inject/places/ */
  readonly filled?: Wrap;
  /** inject: the body is signed anew (AWS). -> stages/inject/aws/ */
  readonly signed?: Wrap;
  /** forward: a 401 is held and the body kept, for a second try. -> stages/forward/relay/retry-exchange.ts */
  readonly retried?: Wrap;
}

/**
 * THE order, from the client to the upstream. A request body passes from the first to the last, an answer from the last to
 * the first. So what was judged is searched before it is signed, a body is searched once however often it is sent, and
 * whatever any of them makes of an answer, whichever try it answers, is searched for credentials at last.
 */
export const fromClientToUpstream = [
  'scrubbed',
  'paced',
  'replaced',
  'rewritten',
  'explained',
  'guarded',
  'filled',
  'signed',
  'retried',
] as const satisfies readonly Exclude<keyof Wrappable, 'exchange' | 'payload'>[];

/** Puts `wrap` at its place in the order. Each is there at most once. */
export function addWrapper<Flow extends Wrappable>(
  flow: Flow,
  name: (typeof fromClientToUpstream)[number],
  wrap: Wrap,
): Flow {
  if (flow[name] !== undefined) throw new Error(`the exchange is ${name} already`);
  const open: { -readonly [Name in keyof Wrappable]: Wrappable[Name] } = flow;
  open[name] = wrap;
  return flow;
}

/** The exchange as whoever comes now has to use it: with all the wrappers that there are by now. */
export function wrappedExchange(flow: Wrappable): Exchange {
  let exchange = flow.payload ?? flow.exchange;
  for (const name of fromClientToUpstream) {
    const wrap = flow[name];
    if (wrap !== undefined) exchange = wrap(exchange);
  }
  return exchange;
}

/** The same in payload form, which it has from then on: for who reads or changes a body, before anything of it was taken. */
export function payloadExchange(flow: Wrappable): Exchange {
  if (flow.payload === undefined) enrich(flow, { payload: flow.exchange.asPayload() });
  return wrappedExchange(flow);
}
