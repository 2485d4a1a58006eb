// The stamp of the accept stage: nothing else can say that this is the one reading of a request. scripts/rooms.cjs names
// who may use it.
import type { CanonicalRequest, Stated } from '../flow.ts';

export function accepted(canonical: CanonicalRequest): Stated<CanonicalRequest, 'accept'> {
  return canonical as Stated<CanonicalRequest, 'accept'>;
}
