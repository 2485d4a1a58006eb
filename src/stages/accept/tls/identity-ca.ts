// The CA by which sandboxes and the mTLS door know each other: signs client certificates for one registration each, and
// the door's own. Must never sign for a host a sandbox asks for, nor be trusted for one: its issuer stays in here, and its
// certificate is constrained to the door's name.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Ca, identityCaKind, openCa } from './ca.ts';
import { issueClientCertificate, issueLeafCertificate, subjectOf, toPem } from './certificate.ts';
import { identityUri } from './identity-name.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const identityLifetimeMs = hourMs;
/** Only this gateway reads it: enough for a clock that is set back a little, and still near to when it was made. */
const identityBackdateMs = 5 * minuteMs;
const doorLifetimeMs = 7 * 24 * hourMs;
/** The shim reads this one, and clocks on other hosts run behind. */
const doorBackdateMs = hourMs;
/** How long before its end the door's certificate is replaced. */
const doorRenewalMs = 24 * hourMs;

/** The name in the door's certificate, whatever address it is dialled at. */
export const doorName = 'door.sallyport.internal';

/** The registration an identity is made for. */
export interface IdentityHolder {
  readonly id: string;
  /** Null: it was registered without the proof `mtls`. */
  readonly certificateBinding: string | null;
  readonly expiresAtMs: number;
  /** True: no certificate lives longer than the registration. */
  readonly expiryIsFinal: boolean;
}

export interface IssuedIdentity {
  readonly certificate: string;
  readonly expires_at: string;
}

/** An identity with its key, handed out once. All PEM. */
export interface IdentityWithKey extends IssuedIdentity {
  readonly key: string;
  readonly ca: string;
}

export interface DoorCertificate {
  readonly cert: string;
  readonly key: string;
  /** Before this time it is not valid: the clock was set back. */
  readonly validFromMs: number;
  /** From then on another is to be used for new connections. */
  readonly renewAtMs: number;
}

export class IdentityCa {
  readonly #ca: Ca;
  readonly #now: () => number;

  private constructor(ca: Ca, now: () => number) {
    this.#ca = ca;
    this.#now = now;
  }

  /** Opens it in a directory of its own, making it when there is none. */
  static async open(directory: string, now: () => number = Date.now): Promise<IdentityCa> {
    return new IdentityCa(await openCa(directory, now, identityCaKind), now);
  }

  get certificatePem(): string {
    return this.#ca.certificatePem;
  }

  get certificatePath(): string {
    return this.#ca.certificatePath;
  }

  get subject(): string {
    return this.#ca.subject;
  }

  get warnings(): readonly string[] {
    return this.#ca.warnings;
  }

  /** Good for one hour and for this one registration. */
  issueIdentity(holder: IdentityHolder, publicKey: KeyObject): IssuedIdentity {
    if (holder.certificateBinding === null) throw new Error(`${holder.id} was not registered with the proof mtls`);
    const uri = identityUri({ sandboxId: holder.id, binding: holder.certificateBinding });
    const now = this.#now();
    const end = holder.expiryIsFinal ? holder.expiresAtMs : Number.POSITIVE_INFINITY;
    const until = this.#endOfLife(Math.min(now + identityLifetimeMs, end));
    const from = new Date(now - identityBackdateMs);
    const certificate = issueClientCertificate(uri, subjectOf(publicKey), this.#ca.issuer, from, until);
    return { certificate: toPem(certificate), expires_at: until.toISOString() };
  }

  /** With a key of its own, which is never written anywhere. */
  issueDoorCertificate(): DoorCertificate {
    const { publicKey, privateKey } = newKeyPair();
    const now = this.#now();
    const until = this.#endOfLife(now + doorLifetimeMs);
    const from = new Date(now - doorBackdateMs);
    const certificate = issueLeafCertificate(doorName, subjectOf(publicKey), this.#ca.issuer, from, until);
    return {
      cert: toPem(certificate),
      key: exportKey(privateKey),
      validFromMs: from.getTime(),
      renewAtMs: until.getTime() - doorRenewalMs,
    };
  }

  /** In whole seconds, like certificates: what is told must be what they say. */
  #endOfLife(wantedMs: number): Date {
    return new Date(Math.floor(Math.min(wantedMs, this.#ca.notAfter.getTime()) / 1000) * 1000);
  }
}

/** The first identity of a registration. The key is made here and kept nowhere. */
export function grantIdentity(ca: IdentityCa, holder: IdentityHolder): IdentityWithKey {
  const { publicKey, privateKey } = newKeyPair();
  return { ...ca.issueIdentity(holder, publicKey), key: exportKey(privateKey), ca: ca.certificatePem };
}

/**
 * A P-256 public key in PEM, or null. That its sender holds the private key shows when the certificate is used: for whoever
 * does not, it is worth nothing.
 */
export function readPublicKey(pem: string): KeyObject | null {
  // A private key or a certificate would be taken as well, and neither belongs on this wire.
  if (!/^-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/=\n]+-----END PUBLIC KEY-----\n?$/.test(pem)) return null;
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null;
  } catch {
    return null;
  }
}

function newKeyPair(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function exportKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
