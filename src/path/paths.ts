// THE path. Every request that leaves a sandbox takes these stages in this order, and there is no other way out. The
// types make the order true: a path that injects before it authorizes does not compile.
import type { Accepted, Arrived, Authorized, Forwarded, Identified, Injected } from './flow.ts';
import { type Path, type Stage, startWith } from './stage.ts';

export interface Stages {
  /** One canonical reading of the request, or 400. -> accept/accept-stage.ts */
  readonly accept: Stage<Arrived, Accepted>;
  /** Which sandbox, proven how, or 403/407. -> identify/identify-stage.ts */
  readonly identify: Stage<Accepted, Identified>;
  /** May it do this, by which rule, or 403/429. -> authorize/authorize-stage.ts */
  readonly authorize: Stage<Identified, Authorized>;
  /** The placeholder goes out, the real credential goes in, or 502. -> inject/inject-stage.ts */
  readonly inject: Stage<Authorized, Injected>;
  /** To the upstream and back, streaming, or 502/504. -> forward/forward-stage.ts */
  readonly forward: Stage<Injected, Forwarded>;
}

/** audit/ is not a stage that can be skipped or refused: serve-request.ts writes down whatever came of the path. */
export function requestPath({ accept, identify, authorize, inject, forward }: Stages): Path<Arrived, Forwarded> {
  return startWith(accept).next(identify).next(authorize).next(inject).next(forward);
}

/** Asking for a tunnel (CONNECT) forwards nothing: the first stages decide whether, and as what, it is opened. */
export function admissionPath({ accept, identify, authorize }: Stages): Path<Arrived, Authorized> {
  return startWith(accept).next(identify).next(authorize);
}
