// Once more with another credential: an upstream that answers 401 has done nothing, so the same request may go out again
// when a new credential can be had. Once, never more; a second 401 is the client's to see.

import { waitAtMost } from '../../../kit/wait-at-most.ts';
import { enrich } from '../../../path/enrich.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import type { Forwarded } from '../../../path/flow.ts';
import type { Wrapped } from './relay-settings.ts';
import type { RetryAnswer } from './retry-answer.ts';
import type { RetryExchange } from './retry-exchange.ts';

/** A client waits for its answer meanwhile, and gives up some time. */
const renewTimeoutMs = 20_000;

type Renew = NonNullable<OutgoingRequest['renew']>;

/** `exchange` is what `send` speaks to. It sends what `renewed` of the flow says, or `outgoing` while there is none. */
export function retryUnauthorized(
  flow: Wrapped,
  exchange: RetryExchange,
  renew: Renew,
  send: (flow: Wrapped) => Promise<Forwarded>,
): Promise<Forwarded> {
  // The next request is to have a good credential, even if this one cannot go again.
  exchange.onUnrepeatable = () => void renewed(renew);
  // No async function up to here: nearly every answer is no 401, and this is the hot path.
  return new Promise((resolve, reject) => {
    let begun = false;
    const trySecond = (held: RetryAnswer): void => {
      if (begun) return;
      begun = true;
      resolve(afterUnauthorized({ flow, exchange, renew, send, first, held }));
    };
    const first = send(flow);
    exchange.onEvent = () => {
      if (exchange.held !== null) trySecond(exchange.held);
    };
    first.then(
      (done) => {
        if (exchange.held !== null) {
          trySecond(exchange.held);
          return;
        }
        exchange.letGo();
        resolve(done);
      },
      (error: unknown) => {
        if (exchange.held !== null) {
          trySecond(exchange.held);
          return;
        }
        exchange.letGo();
        reject(error);
      },
    );
  });
}

interface HeldTry {
  readonly flow: Wrapped;
  readonly exchange: RetryExchange;
  readonly renew: Renew;
  readonly send: (flow: Wrapped) => Promise<Forwarded>;
  readonly first: Promise<Forwarded>;
  readonly held: RetryAnswer;
}

async function afterUnauthorized({ flow, exchange, renew, send, first, held }: HeldTry): Promise<Forwarded> {
  try {
    const again = await unlessGone(exchange, renewed(renew));
    flow.trail.mark('renew', again === null ? 'none' : 'ok');
    if (again === null) {
      if (!held.hasFailed) exchange.passOn();
      return await first;
    }
    exchange.repeat();
    enrich(flow, { renewed: again });
    return await send(flow);
  } finally {
    exchange.letGo();
  }
}

async function unlessGone<T>(exchange: RetryExchange, pending: Promise<T>): Promise<T> {
  const gone = new Promise<void>((resolve) => {
    exchange.onEvent = resolve;
    if (exchange.isGone) resolve();
  });
  const value = await Promise.race([pending, gone]);
  if (exchange.isGone) throw new ClientGone();
  return value as T;
}

/** Null: there is none to be had, or not in time. Why not is told where it was tried. */
async function renewed(renew: Renew): Promise<OutgoingRequest | null> {
  try {
    return await waitAtMost(renew(), renewTimeoutMs, () => null);
  } catch {
    return null;
  }
}
