// Signatures over the last record of the journal, and so over all before it. The key is made when the gateway starts and is in
// its memory alone: who can write the files, but not read that, can rewrite nothing that was signed. One line for each key, in
// a file beside the journal. Forms and reads; when to sign is journal-signer.ts.
// Guards: threats.md T92
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from './journal-files.ts';

export interface SignedHead {
  readonly seq: number;
  readonly hash: string;
  /** When it was signed. */
  readonly time: string;
  /** The fingerprint of the key. */
  readonly key: string;
}

/** Here the key is the public one: SPKI, base64. */
interface SignatureLine extends SignedHead {
  readonly signature: string;
}

/** More gateways than that have not started since the oldest record. */
const maxLines = 10_000;

export function signaturesPath(directory: string): string {
  return join(directory, 'signatures');
}

/** How people compare keys: as ssh shows them. */
export function fingerprintOf(key: string): string {
  return `SHA256:${createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64').replace(/=+$/, '')}`;
}

export class SigningKey {
  readonly publicKey: string;
  readonly #privateKey: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.publicKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    this.#privateKey = privateKey;
  }

  sign(seq: number, hash: string, time: string): string {
    const head = { seq, hash, time, key: this.publicKey };
    const signature = sign(null, messageOf(head), this.#privateKey).toString('base64');
    return JSON.stringify({ ...head, signature });
  }
}

/** Lines as they are, without those of a key and without those of records that are gone. */
export function keptLines(directory: string, without: string, oldest: number): string[] {
  return linesIn(directory).filter((line) => {
    const read = parse(line);
    // What cannot be read is evidence too: it is for `audit verify` to say so.
    return read === null || (read.key !== without && read.seq >= oldest);
  });
}

export type Signatures =
  | { readonly ok: true; readonly heads: readonly SignedHead[] }
  | { readonly ok: false; readonly line: number; readonly message: string };

export function readSignatures(directory: string): Signatures {
  const heads: SignedHead[] = [];
  for (const [i, line] of linesIn(directory).entries()) {
    const read = parse(line);
    const isTrue = read !== null && isSigned(read);
    if (!isTrue) return { ok: false, line: i + 1, message: `line ${i + 1} of the file signatures is not signed` };
    heads.push({ seq: read.seq, hash: read.hash, time: read.time, key: fingerprintOf(read.key) });
  }
  return { ok: true, heads };
}

function linesIn(directory: string): string[] {
  try {
    const text = readFileSync(signaturesPath(directory), 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .slice(-maxLines);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function parse(line: string): SignatureLine | null {
  try {
    const value = JSON.parse(line) as Partial<SignatureLine> | null;
    const texts = [value?.hash, value?.time, value?.key, value?.signature];
    const isLine = Number.isSafeInteger(value?.seq) && texts.every((text) => typeof text === 'string');
    return isLine ? (value as SignatureLine) : null;
  } catch {
    return null;
  }
}

function isSigned(line: SignatureLine): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(line.key, 'base64'), type: 'spki', format: 'der' });
    const isEd25519 = key.asymmetricKeyType === 'ed25519';
    return isEd25519 && verify(null, messageOf(line), key, Buffer.from(line.signature, 'base64'));
  } catch {
    return false;
  }
}

function messageOf({ seq, hash, time }: Omit<SignedHead, 'key'>): Buffer {
  return Buffer.from(`sallyport journal\n${seq}\n${hash}\n${time}\n`);
}
