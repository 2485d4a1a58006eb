// Which sandbox is calling, and how do we know: finds the registration that a caller belongs to, then demands every
// proof the registration lists. Says what to send or how to register; never shows what another sandbox is.
// Guards: threats.md T1, T2
import { callerAddress } from '../../kit/canonical-address.ts';
import type { Caller } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { ProofKind } from '../../path/sandbox.ts';
import { refuseUnserved } from './refuse-unserved.ts';
import { withoutStore } from './refuse-unvouched.ts';
import type { SandboxRegistry } from './registry/registry.ts';
import type { SandboxRecord } from './registry/sandbox-record.ts';

interface Shown {
  readonly caller: Caller;
  /** Canonical source address. */
  readonly address: string | null;
  /** Null: nothing that can be read was sent. */
  readonly secret: ShownSecret | null;
}

/** Throws a Refusal unless every listed proof holds and the registration is alive. */
export function identifyCaller(registry: SandboxRegistry, caller: Caller): SandboxRecord {
  return identifyBy(registry, caller, (record) => record.proof);
}

/**
 * The same for a sandbox that renews its certificate, where there is no place for a secret: a certificate alone is worth
 * nothing to whoever has not the rest.
 */
export function identifyForRenewal(registry: SandboxRegistry, caller: Caller): SandboxRecord {
  return identifyBy(registry, caller, (record) => ['mtls', ...record.proof.filter((kind) => kind !== 'secret')]);
}

function identifyBy(
  registry: SandboxRegistry,
  caller: Caller,
  demanded: (record: SandboxRecord) => readonly ProofKind[],
): SandboxRecord {
  const shown: Shown = {
    caller,
    address: caller.address === null ? null : callerAddress(caller.address),
    secret: caller.proxyAuthorization === null ? null : readProxyAuthorization(caller.proxyAuthorization),
  };
  const record = findRecord(registry, shown);
  if (record === undefined) throw unknownCaller(registry, shown);
  // Who shows a certificate has said who it is: it must be right, also where it is not listed.
  if (caller.certificate !== undefined) demandCertificate(record, caller);
  for (const kind of demanded(record)) demand(kind, record, shown);
  refuseUnserved(registry, record);
  return record;
}

function findRecord(registry: SandboxRegistry, { caller, address, secret }: Shown): SandboxRecord | undefined {
  // A private socket is the identity: it never serves another sandbox, whatever else the caller shows.
  if (caller.socketOf !== null) {
    const owner = registry.lookUpId(caller.socketOf);
    return owner !== undefined && registry.isOwn(owner) ? owner : undefined;
  }
  // So is a certificate: its holder is that sandbox or none, whatever address it has and whatever secret it knows.
  if (caller.certificate !== undefined) return registry.lookUpId(caller.certificate.sandboxId);
  const there = address === null ? undefined : registry.lookUpAddress(address);
  if (there?.proof.includes('ip')) return there;
  const claimed = secret?.claimedId ?? null;
  const named = claimed === null ? undefined : registry.lookUpId(claimed);
  if (named !== undefined && isAskedForMore(registry, named)) return named;
  // An address that is no proof may still say what to ask for, when the caller claims no other id.
  return there !== undefined && isAskedForMore(registry, there) && claimed === null ? there : undefined;
}

/** Told what is missing, in place of being unknown: there is a secret to send, or another door to use. */
function isAskedForMore(registry: SandboxRegistry, record: SandboxRecord): boolean {
  return registry.isFoundByName(record) || (record.proof.includes('mtls') && !record.proof.includes('ip'));
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
      demandCertificate(record, shown.caller);
  }
}

function demandCertificate(record: SandboxRecord, { certificate }: Caller): void {
  if (certificate === undefined) throw missing('mtls', 'this sandbox must come through the mTLS door, by certificate');
  // No comparison in constant time: nobody can try bindings, each would need a signature of the identity CA.
  if (certificate.sandboxId !== record.id || certificate.binding !== record.certificateBinding) {
    throw wrong('mtls', `this certificate was not made for the registration that ${record.id} has now`);
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
  if (caller.certificate !== undefined) {
    if (registry.away !== null) return withoutStore(registry.away);
    return new Refusal('sandbox.unknown', `${caller.certificate.sandboxId} is not registered any more`, {
      rule: 'built-in: only registered sandboxes',
      hint: 'Its certificate ended with its registration. Register it again on the host of the gateway: sallyport register',
    });
  }
  // Many clients (git among them) send proxy credentials only after a 407: where a secret alone could tell who is
  // calling, one who has sent nothing is asked for it.
  if (caller.socketOf === null && caller.proxyAuthorization === null && registry.anyFoundByName) {
    return missing('secret', 'no sandbox is registered for this address, and no secret was sent');
  }
  if (registry.away !== null) return withoutStore(registry.away);
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
  mtls: 'Connect through `sallyport shim` with the identity that came with the registration. If that is lost or of an earlier registration, register the sandbox again.',
};

function missing(kind: ProofKind, message: string): Refusal {
  return new Refusal('sandbox.proof-missing', message, { rule: `proof: ${kind}`, hint: hints[kind] });
}

function wrong(kind: ProofKind, message: string): Refusal {
  return new Refusal('sandbox.proof-wrong', message, { rule: `proof: ${kind}`, hint: hints[kind] });
}

// Reads what a caller sends in Proxy-Authorization: `Basic base64(user:secret)` or `Bearer secret`. Knows nothing of
// who is registered, and never puts what it read into an error.
interface ShownSecret {
  /** The id the caller claims; null when it claims none (no user name, or the user name `sandbox`). */
  readonly claimedId: string | null;
  readonly secret: string;
}

// Ours are 43 characters and ids at most 63: what is longer is wrong, and not worth hashing.
const maxLength = 512;
const scheme = /^(basic|bearer) +([A-Za-z0-9+/=._~-]+) *$/i;

/** Null when it is not one of the two forms. */
export function readProxyAuthorization(value: string): ShownSecret | null {
  const parts = value.length > maxLength ? null : scheme.exec(value);
  if (parts === null) return null;
  const token = parts[2]!;
  if (parts[1]!.toLowerCase() === 'bearer') return { claimedId: null, secret: token };
  const pair = Buffer.from(token, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return null;
  const user = pair.slice(0, colon);
  // `sandbox` is for clients whose proxy URL needs some user name.
  return { claimedId: user === '' || user === 'sandbox' ? null : user, secret: pair.slice(colon + 1) };
}
