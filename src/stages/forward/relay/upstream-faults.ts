// What can go wrong with an upstream once it is reached, as refusals: the same words over HTTP/1.1 and HTTP/2.
import type { Accepted } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';

/** It sent what cannot be passed on safely. `what` completes the sentence that begins with its name. */
export function unsafeAnswer(flow: Accepted, what: string, cause?: unknown): Refusal {
  return new Refusal('upstream.protocol', `${flow.canonical.host} ${what}`, { cause });
}

export function brokeOff(flow: Accepted, what: string, cause?: unknown): Refusal {
  return new Refusal('upstream.closed', `${flow.canonical.host} ${what}`, {
    hint: 'The server may have carried out the request. Repeat it only if that is safe.',
    cause,
  });
}

/**
 * Nothing has moved for too long. `answered`: the head of the answer had come. `given`: the upstream had all of the request,
 * or as much as it would take; else it is the client that did not send, which is no fault of the upstream.
 */
export function stoodStill(flow: Accepted, answered: boolean, given: boolean): Refusal {
  const rule = answered ? 'limits.idle_timeout_ms' : 'limits.headers_timeout_ms';
  if (!answered && !given) {
    return new Refusal('client.timeout', 'the client sent no more of the request body for too long', { rule });
  }
  const what = answered ? 'sent no more of its answer' : 'did not answer';
  return new Refusal('upstream.timeout', `${flow.canonical.host} ${what} for too long`, { rule });
}

/** The place was named by an upstream and is not for the sandbox to know: it reads that there was a failure, not where. */
export function unnamed(flow: Accepted): (cause: unknown) => never {
  return (cause) => {
    if (!(cause instanceof Refusal)) throw cause;
    const { code, rule, hint, retryAfterSeconds } = cause;
    throw new Refusal(code, `${flow.canonical.host} named a storage server that could not be reached`, {
      rule,
      hint,
      cause,
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    });
  };
}
