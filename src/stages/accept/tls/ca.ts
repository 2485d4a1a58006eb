// The CA that sandboxes trust, and the identity CA beside it: made on the first start, loaded ever after. Its key is the
// most precious file we own: 0600, written once, never overwritten, never repaired. Whatever is wrong with it is an error
// that says what to do; two gateways starting at once end up with the same pair.
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import { link, mkdir, open, readdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaError } from './ca-error.ts';
import { checkCaDirectory, isErrno, readGuarded } from './ca-files.ts';
import { type Issuer, issueCaCertificate, issuerOf, subjectOf, toPem } from './certificate.ts';

const dayMs = 86_400_000;
const backdateMs = 3_600_000;
const warnBeforeMs = 30 * dayMs;
/** A file that a start has not finished is left to it for so long: it may be under way. */
const unfinishedMs = 60_000;
/** How long a gateway that lost the race waits for the winner's second file. */
const raceWaitMs = 2000;

/** What tells our two CAs apart, so that neither can be loaded in place of the other. */
export interface CaKind {
  /** How its common name begins. */
  readonly title: string;
  readonly lifetimeMs: number;
  /** The one server it may vouch for; null: any. */
  readonly onlyServer: string | null;
  /** Whether a certificate with this subject is one of this kind. */
  isSubject(subject: string): boolean;
}

/** Signs what sandboxes and the mTLS door know each other by, never a host that a sandbox asks for. */
export const identityCaKind: CaKind = {
  title: 'Sallyport identity CA',
  // Only the gateway and the shim read it. A registration is bound to it, so it must not end in its time.
  lifetimeMs: 3650 * dayMs,
  onlyServer: 'door.sallyport.internal',
  isSubject: (subject) => subject.startsWith(`CN=${identityCaKind.title} `),
};

const interceptionCaKind: CaKind = {
  title: 'Sallyport CA',
  // The longest that Apple's clients accept of a certificate.
  lifetimeMs: 825 * dayMs,
  onlyServer: null,
  isSubject: (subject) => !identityCaKind.isSubject(subject),
};

export interface Ca {
  readonly certificatePem: string;
  readonly certificatePath: string;
  readonly subject: string;
  /** SHA-256 of the certificate, as openssl prints it. */
  readonly fingerprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly issuer: Issuer;
  readonly forOneSandbox: false;
  /** Made by this very call: sandboxes do not know it yet. */
  readonly fresh: boolean;
  readonly warnings: readonly string[];
}

/** Opens the CA in the directory (`ca.key`, `ca.pem`), making both when neither exists. */
export async function openCa(
  directory: string,
  now: () => number = Date.now,
  kind: CaKind = interceptionCaKind,
): Promise<Ca> {
  const keyPath = join(directory, 'ca.key');
  const certificatePath = join(directory, 'ca.pem');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await checkCaDirectory(directory);
  let fresh = false;
  let [keyPem, certificatePem] = await readPair(keyPath, certificatePath);
  if (keyPem === null && certificatePem === null) {
    fresh = await makePair(keyPath, certificatePath, now(), kind);
    [keyPem, certificatePem] = await readPair(keyPath, certificatePath);
  }
  // The other gateway may be between its two files.
  for (let waitedMs = 0; (keyPem === null || certificatePem === null) && waitedMs < raceWaitMs; waitedMs += 50) {
    await sleep(50);
    if (keyPem !== null) await finishPair(directory, keyPem, certificatePath);
    [keyPem, certificatePem] = await readPair(keyPath, certificatePath);
  }
  if (keyPem === null) throw missing(keyPath, certificatePath, 'it cannot sign without its key');
  if (certificatePem === null) throw missing(certificatePath, keyPath, 'a key alone is not a CA');
  const pair = loadPair(keyPath, keyPem, certificatePath, certificatePem, now());
  if (!kind.isSubject(pair.subject)) {
    throw new CaError(
      `${certificatePath} is another CA (${pair.subject}), which must not be used as ${kind.title}: ${startOver(keyPath, certificatePath)}`,
    );
  }
  await clearUnfinished(directory);
  return { ...pair, forOneSandbox: false, fresh };
}

async function readPair(keyPath: string, certificatePath: string): Promise<[string | null, string | null]> {
  return [await readGuarded(keyPath, 0o077, '600'), await readGuarded(certificatePath, 0o022, '644')];
}

function loadPair(keyPath: string, keyPem: string, certificatePath: string, certificatePem: string, now: number) {
  const key = parse(keyPath, () => createPrivateKey(keyPem));
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new CaError(`${keyPath} is not an ECDSA P-256 key: ${startOver(keyPath, certificatePath)}`);
  }
  const certificate = parse(certificatePath, () => new X509Certificate(certificatePem));
  if (!certificate.checkPrivateKey(key)) {
    throw new CaError(
      `${certificatePath} does not belong to ${keyPath}: restore the pair from a backup, or ${startOver(keyPath, certificatePath)}`,
    );
  }
  if (!certificate.ca) {
    throw new CaError(`${certificatePath} is not a CA certificate: ${startOver(keyPath, certificatePath)}`);
  }
  const notBefore = new Date(certificate.validFrom);
  const notAfter = new Date(certificate.validTo);
  if (notAfter.getTime() <= now) {
    throw new CaError(
      `${certificatePath} expired on ${isoDay(notAfter)}: ${startOver(keyPath, certificatePath)}, and give the new certificate to the sandboxes`,
    );
  }
  if (notBefore.getTime() > now) {
    throw new CaError(`${certificatePath} is valid only from ${notBefore.toISOString()}: check the clock of this host`);
  }
  const warnings: string[] = [];
  if (notAfter.getTime() - now < warnBeforeMs) {
    warnings.push(
      `the CA certificate expires on ${isoDay(notAfter)}: before then ${startOver(keyPath, certificatePath)}, and give the new certificate to the sandboxes`,
    );
  }
  const issuer = parse(certificatePath, () => issuerOf(certificate.raw, key));
  const { subject, fingerprint256: fingerprint } = certificate;
  return { certificatePem, certificatePath, subject, fingerprint, notBefore, notAfter, issuer, warnings };
}

/** False when another gateway was first. */
async function makePair(keyPath: string, certificatePath: string, now: number, kind: CaKind): Promise<boolean> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = issueCaCertificate(
    // 64 characters is all a common name may have.
    `${kind.title} ${hostname().slice(0, 32)} ${randomBytes(4).toString('hex')}`,
    subjectOf(publicKey),
    privateKey,
    new Date(now - backdateMs),
    new Date(now - backdateMs + kind.lifetimeMs),
    kind.onlyServer,
  );
  // The certificate is whole on the disk before there is a key: who is killed between the two has left it for the next start.
  const certificate = await writeBeside(certificatePath, toPem(der), 0o644);
  try {
    const key = await writeBeside(keyPath, exportKey(privateKey), 0o600);
    // Whoever places the key has won; only then is the certificate placed, so it can only be the winner's.
    if (!(await placeNew(key, keyPath).finally(() => unlink(key)))) return false;
    await placeNew(certificate, certificatePath);
    return true;
  } finally {
    await unlink(certificate);
  }
}

/** The first start was killed between its two files: its certificate lies there under another name. */
async function finishPair(directory: string, keyPem: string, certificatePath: string): Promise<void> {
  for (const name of (await readdir(directory)).filter((one) => /^ca\.pem\..*\.tmp$/.test(one))) {
    const path = join(directory, name);
    const pem = await readGuarded(path, 0o022, '644').catch(() => null);
    if (pem === null || !belongsTo(pem, keyPem)) continue;
    await placeNew(path, certificatePath);
    return;
  }
}

function belongsTo(certificatePem: string, keyPem: string): boolean {
  try {
    return new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    // Half a file, or none of ours.
    return false;
  }
}

/** What was killed while it made a pair; a second name of the key among it would outlive the key. */
async function clearUnfinished(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter((one) => /^ca\.(?:key|pem)\..*\.tmp$/.test(one))) {
    const path = join(directory, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > unfinishedMs) await unlink(path).catch(() => {});
  }
}

function exportKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Whole and on the disk, under another name. */
async function writeBeside(path: string, text: string, mode: number): Promise<string> {
  const temporary = `${path}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  return temporary;
}

/** Never over an existing file: `link` fails where `rename` would replace. */
async function placeNew(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
  const directory = await open(join(path, '..'), 'r');
  await directory.sync().finally(() => directory.close());
  return true;
}

function parse<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    // The parser's own words may quote what it read, so they are not repeated.
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
    throw new CaError(
      `${path} cannot be parsed${code}: restore it from a backup, or remove ca.key and ca.pem and start again for a new CA`,
    );
  }
}

function missing(absent: string, present: string, why: string): CaError {
  return new CaError(
    `${absent} is missing beside ${present}: ${why}. Restore it from a backup, or move ${present} away and start again for a new CA, which every sandbox must then trust anew`,
  );
}

function startOver(keyPath: string, certificatePath: string): string {
  return `move ${keyPath} and ${certificatePath} away and start again for a new CA`;
}

function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}
