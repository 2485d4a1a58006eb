// The stamp of the identify stage: nothing else can say that a request is of this sandbox. scripts/rooms.cjs names who may
// use it.
import type { Stated } from '../flow.ts';
import type { Sandbox } from '../sandbox.ts';

export function proven(sandbox: Sandbox): Stated<Sandbox, 'identify'> {
  return sandbox as Stated<Sandbox, 'identify'>;
}
