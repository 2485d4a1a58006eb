// The private key of a GitHub App, and the short-lived proof that is signed with it. The key is read anew for every
// proof, so that a new one takes hold at once; no part of it ever reaches an error.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { reveal, Secret } from '../../../path/secret.ts';
import { SourceError } from './secret-source.ts';

/** GitHub's own advice: a minute back against clocks that differ, and no more than ten minutes ahead. */
const issuedSecondsAgo = 60;
const validSeconds = 9 * 60;
const minimumBits = 2048;

/** GitHub hands out the first form; the second is what `openssl pkcs8` makes of it. */
const keyTypes: ReadonlyMap<string, 'pkcs1' | 'pkcs8'> = new Map([
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['PRIVATE KEY', 'pkcs8'],
]);

export async function signAppProof(key: Secret, appId: string, nowMs: number): Promise<Secret> {
  const nowSeconds = Math.floor(nowMs / 1000);
  const proof = await new SignJWT()
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(appId)
    .setIssuedAt(nowSeconds - issuedSecondsAgo)
    .setExpirationTime(nowSeconds + validSeconds)
    .sign(readKey(key));
  return new Secret(`${key.name} proof`, proof);
}

function readKey(secret: Secret): KeyObject {
  // In a variable of the environment the lines of the file are often written as `\n`.
  const pem = /^-----BEGIN ([A-Z ]+)-----(.*)-----END \1-----$/s.exec(reveal(secret).replaceAll('\\n', ' ').trim());
  const type = keyTypes.get(pem?.[1] ?? '');
  if (pem === null || type === undefined) throw badKey('is not a private key in PEM form (BEGIN RSA PRIVATE KEY)');
  const body = pem[2]!.replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw badKey('is encrypted or damaged');
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: Buffer.from(body, 'base64'), format: 'der', type });
  } catch {
    // Not as the cause: what a parser says of a key may quote from it.
    throw badKey('is damaged: it cannot be read as a private key');
  }
  if (key.asymmetricKeyType !== 'rsa') throw badKey(`is of the kind ${key.asymmetricKeyType}, not RSA`);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minimumBits) throw badKey(`has ${bits} bits, fewer than ${minimumBits}`);
  return key;
}

function badKey(what: string): SourceError {
  return new SourceError(`the private key of the GitHub App ${what}: give the file that GitHub made for the app`);
}
