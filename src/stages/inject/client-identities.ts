// Client certificates with their keys, for upstreams that ask who calls (mutual TLS). The files are looked at again every second;
// whoever gets an identity can be the client with it, and cannot read the key out of it.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { ClientIdentity } from '../../path/exchange/client-identity.ts';
import { Refusal } from '../../path/refusal.ts';
import { reveal, type Secret } from '../../path/secret.ts';
import type { ClientCertificate } from '../../policy/compiled.ts';
import { SourceError } from './sources/secret-source.ts';
import { WatchedFile } from './sources/watched-file.ts';

interface Kept {
  readonly file: WatchedFile;
  certificate: string;
  key: Secret | null;
  identity: ClientIdentity | null;
}

/** More than a policy has; those of an old one go with all others. */
const maxKept = 256;
const maxCertificateBytes = 256 * 1024;

export class ClientIdentities {
  readonly #kept = new Map<string, Kept>();

  /** Throws a Refusal where certificate and key are no pair, or cannot be read. */
  of(name: string, { path }: ClientCertificate, key: Secret): ClientIdentity {
    let kept = this.#kept.get(`${name} ${path}`);
    if (kept === undefined) {
      if (this.#kept.size >= maxKept) this.#kept.clear();
      // Others may read a certificate; who could write it would choose whom the gateway is.
      const file = new WatchedFile(path, { maxBytes: maxCertificateBytes, encrypted: true });
      kept = { file, certificate: '', key: null, identity: null };
      this.#kept.set(`${name} ${path}`, kept);
    }
    try {
      const changed = kept.file.changed();
      if (changed !== null) kept.certificate = changed.toString('latin1');
      if (changed === null && kept.identity !== null && kept.key === key) return kept.identity;
      kept.identity = identityOf(kept.certificate, key);
      kept.key = key;
      return kept.identity;
    } catch (error) {
      kept.identity = null;
      kept.file.forget();
      throw unusable(name, error);
    }
  }
}

function identityOf(certificate: string, key: Secret): ClientIdentity {
  const pem = onLines(reveal(key));
  const id = createHash('sha256').update(certificate).update('\0').update(pem).digest('base64url').slice(0, 22);
  if (!isPair(certificate, pem))
    throw new SourceError('the certificate and the private key are no pair, or are damaged');
  return new ClientIdentity(id, (roots) =>
    createSecureContext({ cert: certificate, key: pem, ca: [...roots], minVersion: 'TLSv1.2' }),
  );
}

function isPair(certificate: string, pem: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(pem));
  } catch {
    return false;
  }
}

/** Sources put a PEM block on one line; OpenSSL reads it on several. */
function onLines(value: string): string {
  const pem = /^-----BEGIN ([A-Z ]+)-----(.*)-----END \1-----$/s.exec(value.replaceAll('\\n', ' ').trim());
  if (pem === null) return value;
  const lines = pem[2]!.trim().split(/\s+/);
  return `-----BEGIN ${pem[1]}-----\n${lines.join('\n')}\n-----END ${pem[1]}-----\n`;
}

function unusable(name: string, error: unknown): Refusal {
  return new Refusal(
    'credential.unreadable',
    `the client certificate of ${name} cannot be used: the operator of the gateway must repair it`,
    { rule: `credentials.${name}.client_certificate`, cause: error instanceof SourceError ? error : undefined },
  );
}
