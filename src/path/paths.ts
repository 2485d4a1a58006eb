// THE paths. Every request that leaves a sandbox takes these stages in this order, and there is no other way out. What the
// gateway asks by itself is here too, each with its reason. The types make the order true: a path that leaves a stage out or
// swaps two does not compile (tests/types/).
import { ClientGone } from './exchange/client-gone.ts';
import type { Accepted, Arrived, Authorized, Forwarded, Identified, Injected } from './flow.ts';
import { type Path, type Stage, startWith } from './stage.ts';

export interface Stages {
  /** One canonical reading of the request, or 400. -> stages/accept/accept-stage.ts */
  readonly accept: Stage<Arrived, Accepted>;
  /** Which sandbox, proven how, or 403/407. -> stages/identify/identify-stage.ts */
  readonly identify: Stage<Accepted, Identified>;
  /** May it do this, by which rule, or 403/429. -> stages/authorize/authorize-stage.ts */
  readonly authorize: Stage<Identified, Authorized>;
  /** The placeholder goes out, the real credential goes in, or 502. -> stages/inject/inject-stage.ts */
  readonly inject: Stage<Authorized, Injected>;
  /** To the upstream and back, streaming, or 502/504. -> stages/forward/forward-stage.ts */
  readonly forward: Stage<Injected, Forwarded>;
}

/**
 * A plain connection (`tcp`, a port of the host) is one request of this path: admitted once, one decision, one record, for as
 * long as it lasts.
 *
 * audit/ is not a stage that can be skipped or refused: serve-request.ts writes down whatever came of the path.
 */
export function requestPath({ accept, identify, authorize, inject, forward }: Stages): Path<Arrived, Forwarded> {
  return startWith(accept).next(identify).next(authorize).next(inject).next(forward);
}

/** Asking for a tunnel (CONNECT) forwards nothing: the first stages decide whether, and as what, it is opened. */
export function admissionPath({ accept, identify, authorize }: Stages): Path<Arrived, Authorized> {
  return startWith(accept).next(identify).next(authorize);
}

/**
 * A question about a request that is being judged (is this commit an ancestor of that one?). It is asked in the name of that
 * request's sandbox, with what was granted to it: accept, identify and authorize have done their work (own-questions.ts).
 * `isWanted`: who asked may give up while the credential is fetched; nothing goes out then.
 */
export function questionPath(
  { inject, forward }: Pick<Stages, 'inject' | 'forward'>,
  isWanted: () => boolean,
): Path<Authorized, Forwarded> {
  const stillWanted: Stage<Injected, Injected> = {
    name: 'still-wanted',
    run: (flow) => {
      if (!isWanted()) throw new ClientGone();
      return flow;
    },
  };
  return startWith(inject).next(stillWanted).next(forward);
}

/** A call of the gateway's own (mint this token): inject/ made it, credential included; it belongs to no sandbox. */
export function ownCallPath({ forward }: Pick<Stages, 'forward'>): Path<Injected, Forwarded> {
  return startWith(forward);
}
