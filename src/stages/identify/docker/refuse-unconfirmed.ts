// A sandbox whose container Docker has not confirmed is not served: it may be another one by now. It stays registered.
// Guards: threats.md T1
import { Refusal } from '../../../path/refusal.ts';
import type { SandboxRegistry } from '../registry/registry.ts';
import type { SandboxRecord } from '../registry/sandbox-record.ts';

export function refuseUnconfirmed(registry: SandboxRegistry, record: SandboxRecord): void {
  if (record.confirmed) return;
  if (!registry.isOwn(record)) throw atHome(record);
  throw new Refusal(
    'sandbox.unconfirmed',
    `Docker has not confirmed that ${record.id} is still the container that was registered`,
    {
      rule: 'built-in: containers are confirmed by Docker',
      hint: 'Try again in a moment. If it lasts, the operator finds in the log of the gateway why Docker could not be asked.',
    },
  );
}

/** Only the Docker of its own machine can say what has become of it. */
function atHome({ id, gateway }: SandboxRecord): Refusal {
  return new Refusal(
    'sandbox.unconfirmed',
    `${id} is a container on another machine: only its own gateway, ${gateway}, serves it`,
    {
      rule: 'built-in: containers are confirmed by Docker',
      hint: `Send the request through ${gateway}, where the container was registered.`,
    },
  );
}
