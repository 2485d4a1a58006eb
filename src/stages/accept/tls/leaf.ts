// Server certificates for the names that sandboxes ask for, kept as ready TLS contexts: the two cost about two
// milliseconds together. One leaf key per minter, never written anywhere. Must never mint for anything but a plain host
// name: no wildcard, no byte that a reader could take for a separator, and an address only for the doors that say so.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { LRUCache } from 'lru-cache';
import { type Issuer, issueLeafCertificate, type Subject, subjectOf, toPem } from './certificate.ts';

const hourMs = 3_600_000;
/** Clocks in sandboxes and virtual machines run behind. */
const backdateMs = hourMs;
const lifetimeMs = 7 * 24 * hourMs;
/** A context is replaced this long before its certificate ends, so that no connection begins with a stale one. */
const renewalMs = 24 * hourMs;
const maxContexts = 1000;
/** A context is some 30 KiB, and a hundred sandboxes share one gateway: each is to stay under 1 MiB. */
const maxContextsOfSandbox = 24;
const maxHostLength = 253;

/** Who signs the leaves. */
export interface SigningCa {
  readonly subject: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly issuer: Issuer;
  /**
   * For a door to which every address leads (of a namespace or a network): a certificate for an address lets a refusal be
   * read there.
   */
  readonly forOneSandbox: boolean;
}

interface Minted {
  readonly context: tls.SecureContext;
  readonly validFrom: number;
  readonly renewAt: number;
}

/** AEAD with forward secrecy alone, of the leaf's kind (ECDSA): neither CBC, nor CCM with its tag cut to 8 bytes. */
const ciphers = [
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305',
].join(':');
/** No finite fields: one exchange over ffdhe8192 costs as much as a hundred of these. */
const groups = 'X25519:P-256:P-384:P-521';

export class LeafMinter {
  /**
   * The server that uses these contexts needs the same keys in its own options: OpenSSL opens a ticket with the keys
   * of the context it began with, before the name is known.
   */
  readonly ticketKeys: Buffer = randomBytes(48);
  readonly #ca: SigningCa;
  readonly #now: () => number;
  readonly #subject: Subject;
  readonly #keyPem: string;
  readonly #contexts: LRUCache<string, Minted>;

  constructor(ca: SigningCa, now: () => number = Date.now) {
    this.#ca = ca;
    this.#now = now;
    this.#contexts = new LRUCache({ max: ca.forOneSandbox ? maxContextsOfSandbox : maxContexts });
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#subject = subjectOf(publicKey);
    this.#keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  }

  /** The TLS context that presents a certificate for this canonical host. */
  contextFor(host: string): tls.SecureContext {
    const kept = this.#contexts.get(host);
    const now = this.#now();
    // Before it begins: the clock was ahead when it was made, and clients whose clock is right would refuse it.
    if (kept !== undefined && now < kept.renewAt && now >= kept.validFrom) return kept.context;
    const until = this.#endOfLife(now);
    const context = tls.createSecureContext({
      cert: this.#mint(host, now, until),
      key: this.#keyPem,
      minVersion: 'TLSv1.2',
      ciphers,
      ecdhCurve: groups,
      ticketKeys: this.ticketKeys,
      // A server context verifies no one; without this every one of them would hold the public roots.
      ca: [],
    });
    const renewAt = Math.max(now, until - renewalMs);
    this.#contexts.set(host, { context, validFrom: this.#beginOfLife(now), renewAt });
    return context;
  }

  /** A fresh certificate for the host, as PEM. */
  mintLeaf(host: string): string {
    const now = this.#now();
    return this.#mint(host, now, this.#endOfLife(now));
  }

  get size(): number {
    return this.#contexts.size;
  }

  #beginOfLife(now: number): number {
    return Math.max(now - backdateMs, this.#ca.notBefore.getTime());
  }

  #endOfLife(now: number): number {
    // A leaf that outlives its CA is refused by some clients even while both are valid.
    return Math.min(now + lifetimeMs - backdateMs, this.#ca.notAfter.getTime());
  }

  #mint(host: string, now: number, until: number): string {
    const isAddress = this.#ca.forOneSandbox && isIP(host) !== 0;
    if (!isAddress && !isPlainHost(host))
      throw new Error(`no certificate is made for ${JSON.stringify(host)}: not a host name`);
    if (until <= now) {
      throw new Error(`the CA certificate (${this.#ca.subject}) has expired: restart the gateway to see the fix`);
    }
    const from = new Date(this.#beginOfLife(now));
    return toPem(issueLeafCertificate(host, this.#subject, this.#ca.issuer, from, new Date(until)));
  }
}

/** Lower-case labels of letters, digits, `-` and `_`; callers hand in canonical hosts, this is the second lock. */
function isPlainHost(host: string): boolean {
  if (host.length === 0 || host.length > maxHostLength || isIP(host) !== 0) return false;
  return /^[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*$/.test(host);
}
