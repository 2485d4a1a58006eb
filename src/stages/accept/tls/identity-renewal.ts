// Who may have a new identity certificate: the sandbox whose certificate is in force, for a key it names, and not too
// often. A certificate never outlives a registration whose end was said. Never hands out a key.
import type { Caller } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { type IdentityCa, type IdentityHolder, type IssuedIdentity, readPublicKey } from './identity-ca.ts';

/** A shim renews twice an hour. More is a fault, or somebody who wants the gateway to sign. */
const perMinute = 10;
const minuteMs = 60_000;

export interface RenewalPorts {
  readonly ca: IdentityCa;
  /** The registration of a caller, by its certificate; throws a Refusal when there is none or it is another. */
  identify(caller: Caller): IdentityHolder;
  /** For the operator's log. */
  report(what: string, detail: Readonly<Record<string, unknown>>): void;
  readonly now?: () => number;
}

/** Throws a Refusal when nothing is issued. */
export type RenewIdentity = (caller: Caller, publicKey: string) => IssuedIdentity;

export function createIdentityRenewal({ ca, identify, report, now = Date.now }: RenewalPorts): RenewIdentity {
  const recent = new Map<string, number[]>();

  function refuseTooMany(id: string): void {
    const since = now() - minuteMs;
    // Sandboxes come and go: whoever has been quiet for a minute is forgotten.
    for (const [known, times] of recent) if (times.at(-1)! <= since) recent.delete(known);
    const times = (recent.get(id) ?? []).filter((time) => time > since);
    if (times.length >= perMinute) {
      throw new Refusal('limit.rate', `${id} has renewed its identity ${perMinute} times within a minute`, {
        rule: 'built-in: identities are renewed at half-life',
        hint: 'Use the certificate until half of its hour has passed, then renew it once.',
        retryAfterSeconds: Math.ceil((times[0]! - since) / 1000),
      });
    }
    recent.set(id, [...times, now()]);
  }

  return (caller, publicKey) => {
    const holder = identify(caller);
    refuseTooMany(holder.id);
    const key = readPublicKey(publicKey);
    if (key === null) {
      throw new Refusal('malformed.syntax', 'public_key is not a P-256 public key in PEM (SPKI)', {
        hint: 'Make one with: openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout',
      });
    }
    const issued = ca.issueIdentity(holder, key);
    report('an identity was renewed', { sandbox: holder.id, address: caller.address, expires_at: issued.expires_at });
    return issued;
  };
}
