// One answer that is read on its way to the client, with the meter that is told what it cost.

import type { TokenUse } from '../../../../../src/path/exchange/answer-meter.ts';
import type { Exchange } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../../src/path/exchange/outgoing-request.ts';
import type { Forwarded, Injected } from '../../../../../src/path/flow.ts';
import type { Refusal } from '../../../../../src/path/refusal.ts';
import { Trail } from '../../../../../src/path/trail.ts';
import { scrubAnswer, untilPassedOn } from '../../../../../src/stages/forward/answer/scrubbed-answer.ts';
import { acceptedFlow, callerFrom, canonicalOf } from '../../../../support/hand-made-flow.ts';
import { ClientEnd, keyScrub } from './scrub-ground.ts';

export interface MeteredAnswer {
  readonly end: ClientEnd;
  readonly exchange: Exchange;
  readonly uses: TokenUse[];
  /** Set to end a conversation that goes on. */
  over: Refusal | null;
  /** The relay is done: with the answer whole (null), or not. */
  finish(failure?: unknown): Promise<void>;
}

export interface Metered {
  readonly path?: string;
  readonly bytesIn?: number;
  readonly isRetrieval?: boolean;
  /** Fields of the request. */
  readonly fields?: readonly [string, string][];
  readonly outgoing?: readonly [string, string][];
  /** Whether answers are also searched for credentials. */
  readonly isSearched?: boolean;
  /** How long ago it was asked; default: not at all, whatever the clock says. */
  readonly seconds?: number;
}

export function meteredAnswer(made: Metered = {}): MeteredAnswer {
  const end = new ClientEnd('payload');
  Object.assign(end, { bytesIn: made.bytesIn ?? 400 });
  const uses: TokenUse[] = [];
  const canonical = canonicalOf('POST', `https://api.anthropic.com${made.path ?? '/v1/messages'}`);
  const arrived = acceptedFlow(callerFrom(), canonical, { headers: HeaderList.from(made.fields ?? []) });
  const outgoing = new OutgoingRequest('/v1/messages', HeaderList.from(made.outgoing ?? []), {
    scrub: made.isSearched === false ? null : keyScrub(),
  });
  const answer: Pick<MeteredAnswer, 'over'> = { over: null };
  const flow = {
    ...arrived,
    sandbox: { id: 'sbx_metered' },
    exchange: end as unknown as Exchange,
    trail: new Trail(made.seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() - made.seconds * 1000),
    outgoing,
    meter: {
      isRetrieval: made.isRetrieval ?? false,
      count: (use: TokenUse) => uses.push(use),
      over: () => answer.over,
    },
  } as unknown as Injected;
  const exchange = scrubAnswer(flow.exchange, flow);
  const finish = async (failure: unknown = null): Promise<void> => {
    const relayed = failure === null ? Promise.resolve(flow as Forwarded) : Promise.reject(failure);
    await untilPassedOn(flow, relayed).catch((error: unknown) => {
      if (error !== failure) throw error;
    });
  };
  return Object.assign(answer, { end, exchange, uses, finish });
}
