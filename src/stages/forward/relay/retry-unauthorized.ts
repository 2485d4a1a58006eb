// Once more with another credential: an upstream that answers 401 has done nothing, so the same request may go out again
// when a new credential can be had. Once, never more; a second 401 is the client's to see.

import { waitAtMost } from '../../../kit/wait-at-most.ts';
import { enrich } from '../../../path/enrich.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import type { Forwarded } from '../../../path/flow.ts';
import type { Wrapped } from './relay-settings.ts';
import type { RetryExchange } from './retry-exchange.ts';

/** A client waits for its answer meanwhile, and gives up some time. */
const renewTimeoutMs = 20_000;

type Renew = NonNullable<OutgoingRequest['renew']>;

/** `exchange` is what `send` speaks to. It sends what `renewed` of the flow says, or `outgoing` while there is none. */
export async function retryUnauthorized(
  flow: Wrapped,
  exchange: RetryExchange,
  renew: Renew,
  send: (flow: Wrapped) => Promise<Forwarded>,
): Promise<Forwarded> {
  // The next request is to have a good credential, even if this one cannot go again.
  exchange.onUnrepeatable = () => void renewed(renew);
  try {
    const first = send(flow);
    await heldOrOver(exchange, first);
    if (exchange.held === null) return await first;
    const again = await unlessGone(exchange, renewed(renew));
    flow.trail.mark('renew', again === null ? 'none' : 'ok');
    if (again === null) {
      if (!exchange.held.hasFailed) exchange.passOn();
      return await first;
    }
    exchange.repeat();
    enrich(flow, { renewed: again });
    return await send(flow);
  } finally {
    exchange.letGo();
  }
}

/** Until the first try has an answer that is held, or is over in any other way. */
function heldOrOver(exchange: RetryExchange, first: Promise<Forwarded>): Promise<void> {
  return new Promise((resolve) => {
    exchange.onEvent = () => {
      if (exchange.held !== null) resolve();
    };
    first.then(
      () => resolve(),
      () => resolve(),
    );
  });
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
