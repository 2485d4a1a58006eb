// Whether a sandbox that was identified is served at this moment: its registration lasts, Docker has confirmed its container,
// and the store vouches for it. The same for a request that comes and for one that has waited. Never identifies anybody.
// Guards: threats.md T1
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import { refuseUnvouched } from './refuse-unvouched.ts';
import type { SandboxRegistry } from './registry/registry.ts';
import type { SandboxRecord } from './registry/sandbox-record.ts';

export function refuseUnserved(registry: SandboxRegistry, record: SandboxRecord): void {
  refuseExpired(registry, record);
  refuseUnconfirmed(registry, record);
  refuseUnvouched(registry, record);
}

/** For a request that was identified a while ago: the very registration that it came under must still be there. */
export function refuseNoLongerServed(registry: SandboxRegistry, sandbox: Sandbox): void {
  const record = registry.lookUpId(sandbox.id);
  if (record !== sandbox) {
    throw new Refusal('sandbox.unknown', `${sandbox.id} is not registered any more`, {
      rule: 'built-in: only registered sandboxes',
      hint: 'Its registration ended while the request waited. Register it on the host of the gateway: sallyport register',
    });
  }
  refuseUnserved(registry, record);
}

/** Told once; from then on the sandbox is unknown. */
function refuseExpired(registry: SandboxRegistry, record: SandboxRecord): void {
  if (!registry.hasExpired(record)) return;
  registry.expire(record);
  throw new Refusal('sandbox.expired', `the registration of ${record.id} has expired`, {
    rule: 'built-in: registrations end',
    hint: 'Register the sandbox again on the host of the gateway: sallyport register',
  });
}

// A sandbox whose container Docker has not confirmed is not served: it may be another one by now. It stays registered.
// Guards: threats.md T1
function refuseUnconfirmed(registry: SandboxRegistry, record: SandboxRecord): void {
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
