// Which sandbox is calling, and how do we know: finds the registration that a caller belongs to, then demands every
// proof the registration lists. Says what to send or how to register; never shows what another sandbox is.
// Guards: threats.md T1, T2
import type { Caller } from '../flow/flow.ts';
import { Refusal } from '../flow/refusal.ts';
import type { ProofKind } from '../flow/sandbox.ts';
import { callerAddress } from './canonical-address.ts';
import { readProxyAuthorization, type ShownSecret } from './proxy-authorization.ts';
import type { SandboxRegistry } from './registry.ts';
import { isFoundByName, type SandboxRecord } from './sandbox-record.ts';

interface Shown {
  readonly caller: Caller;
  /** Canonical source address. */
  readonly address: string | null;
  /** Null: nothing that can be read was sent. */
  readonly secret: ShownSecret | null;
}

/** Throws a Refusal unless every listed proof holds and the registration is alive. */
export function identifyCaller(registry: SandboxRegistry, caller: Caller): SandboxRecord {
  const shown: Shown = {
    caller,
    address: caller.address === null ? null : callerAddress(caller.address),
    secret: caller.proxyAuthorization === null ? null : readProxyAuthorization(caller.proxyAuthorization),
  };
  const record = findRecord(registry, shown);
  if (record === undefined) throw unknownCaller(registry, shown);
  for (const kind of record.proof) demand(kind, record, shown);
  refuseExpired(registry, record);
  return record;
}

/** Told once; from then on the sandbox is unknown. */
export function refuseExpired(registry: SandboxRegistry, record: SandboxRecord): void {
  if (!registry.hasExpired(record)) return;
  registry.expire(record);
  throw new Refusal('sandbox.expired', `the registration of ${record.id} has expired`, {
    rule: 'built-in: registrations end',
    hint: 'Register the sandbox again on the host of the gateway: sallyport register',
  });
}

function findRecord(registry: SandboxRegistry, { caller, address, secret }: Shown): SandboxRecord | undefined {
  // A private socket is the identity: it never serves another sandbox, whatever else the caller shows.
  if (caller.socketOf !== null) return registry.lookUpId(caller.socketOf);
  const there = address === null ? undefined : registry.lookUpAddress(address);
  if (there?.proof.includes('ip')) return there;
  const claimed = secret?.claimedId ?? null;
  const named = claimed === null ? undefined : registry.lookUpId(claimed);
  if (named !== undefined && isFoundByName(named)) return named;
  // An address that is no proof may still say which secret to ask for, when the caller claims no other id.
  return there !== undefined && isFoundByName(there) && claimed === null ? there : undefined;
}

function demand(kind: ProofKind, record: SandboxRecord, shown: Shown): void {
  switch (kind) {
    case 'ip':
      if (shown.address !== record.containerIp) {
        throw wrong('ip', 'the request does not come from the address this sandbox was registered with');
      }
      return;
    case 'socket':
      if (shown.caller.socketOf !== record.id) {
        throw missing('socket', 'this sandbox must come through the Unix socket that belongs to it alone');
      }
      return;
    case 'secret':
      demandSecret(record, shown);
      return;
    case 'mtls':
      throw missing('mtls', 'this sandbox must prove itself by certificate, which this version does not serve');
  }
}

function demandSecret(record: SandboxRecord, { caller, secret }: Shown): void {
  if (caller.proxyAuthorization === null) throw missing('secret', 'this sandbox must send its secret');
  if (secret === null) throw wrong('secret', 'Proxy-Authorization is neither Basic user:secret nor Bearer secret');
  // Both are looked at before either answers: the answer must not depend on which of them was wrong.
  const matches = record.secretMatches(secret.secret);
  const claimsAnother = secret.claimedId !== null && secret.claimedId !== record.id;
  if (!matches || claimsAnother)
    throw wrong('secret', 'the secret in Proxy-Authorization is not right for this caller');
}

function unknownCaller(registry: SandboxRegistry, { caller, address }: Shown): Refusal {
  // Many clients (git among them) send proxy credentials only after a 407: where a secret alone could tell who is
  // calling, one who has sent nothing is asked for it.
  if (caller.socketOf === null && caller.proxyAuthorization === null && registry.anyFoundByName) {
    return missing('secret', 'no sandbox is registered for this address, and no secret was sent');
  }
  const from = address === null ? 'this caller' : `the address ${address}`;
  return new Refusal('sandbox.unknown', `no sandbox is registered for ${from}`, {
    rule: 'built-in: only registered sandboxes',
    hint: `Register it on the host of the gateway: sallyport register${address === null ? '' : ` --ip ${address}`}`,
  });
}

const howToSend =
  'Put the secret that `sallyport register` printed into the proxy URL, http://ID:SECRET@HOST:PORT with the id of the sandbox, or send Proxy-Authorization: Bearer SECRET.';

const hints: Record<ProofKind, string> = {
  ip: 'Call from the registered address, or register the sandbox again with the address it has now.',
  secret: howToSend,
  socket: 'Use the socket path that `sallyport register` printed.',
  mtls: 'Register the sandbox again with proof ip, secret or socket.',
};

function missing(kind: ProofKind, message: string): Refusal {
  return new Refusal('sandbox.proof-missing', message, { rule: `proof: ${kind}`, hint: hints[kind] });
}

function wrong(kind: ProofKind, message: string): Refusal {
  return new Refusal('sandbox.proof-wrong', message, { rule: `proof: ${kind}`, hint: hints[kind] });
}
