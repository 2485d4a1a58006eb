// A sandbox whose container Docker has not confirmed is not served: it may be another one by now. It stays registered.
// Guards: threats.md T1
import { Refusal } from '../flow/refusal.ts';
import type { SandboxRecord } from './sandbox-record.ts';

export function refuseUnconfirmed(record: SandboxRecord): void {
  if (record.confirmed) return;
  throw new Refusal(
    'sandbox.unconfirmed',
    `Docker has not confirmed that the container of ${record.id} is what it was`,
    {
      rule: 'built-in: containers are confirmed by Docker',
      hint: 'Try again in a moment. If it lasts, the operator finds in the log of the gateway why Docker could not be asked.',
    },
  );
}
