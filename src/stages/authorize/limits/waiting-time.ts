// How long a request has waited for a person. That time is not the request's own: what limits how long a request may take
// leaves it out. Kept by the trail of the request, and gone with it.
import type { Trail } from '../../../path/trail.ts';

interface Waited {
  ms: number;
  /** Null: it does not wait now. */
  sinceMs: number | null;
}

const waited = new WeakMap<Trail, Waited>();

/** Returns how to end it. */
export function beginWaiting(trail: Trail): () => void {
  const own = waited.get(trail) ?? { ms: 0, sinceMs: null };
  own.sinceMs = performance.now();
  waited.set(trail, own);
  return () => {
    own.ms += performance.now() - (own.sinceMs ?? performance.now());
    own.sinceMs = null;
  };
}

export function waitedMs(trail: Trail): number {
  const own = waited.get(trail);
  if (own === undefined) return 0;
  return own.ms + (own.sinceMs === null ? 0 : performance.now() - own.sinceMs);
}
