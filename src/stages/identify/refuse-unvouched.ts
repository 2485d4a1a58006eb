// While the store that gateways share is away, nobody can say whether a registration still holds. A sandbox that this gateway
// already knew is served for a while longer. Everybody else is refused: an unknown caller is never let in.
// Guards: threats.md T1

import { Refusal } from '../../path/refusal.ts';
import type { StoreAway } from '../../path/shared-store.ts';
import type { SandboxRegistry } from './registry/registry.ts';
import type { SandboxRecord } from './registry/sandbox-record.ts';

const retryAfterSeconds = 5;

export function refuseUnvouched(registry: SandboxRegistry, record: SandboxRecord): void {
  const { away } = registry;
  if (away === null || registry.isVouchedFor(record, away)) return;
  throw withoutStore(away, `whether the registration of ${record.id} still holds`);
}

/** For callers that nobody here knows: they may be registered with another gateway by now. */
export function withoutStore(away: StoreAway, what = 'who this caller is'): Refusal {
  return new Refusal('store.unavailable', `the gateway cannot ask its store ${what}`, {
    rule: 'store.grace_seconds',
    hint: 'Try again in a moment. If it lasts, the operator finds in the log of the gateway why its store does not answer.',
    retryAfterSeconds,
    cause: new Error(away.reason),
  });
}
