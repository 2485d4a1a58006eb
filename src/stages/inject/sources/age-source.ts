// A credential in a file that age has encrypted, for an identity or with a passphrase: opened in memory alone, opened again
// when the file changes. The file may lie where others read it, never where they write it. What the library says of a file
// or a key reaches no error: it may quote them.

import { createDecipheriv, scrypt } from 'node:crypto';
import type { Identity, Stanza } from 'age-encryption';
import { reveal, Secret } from '../../../path/secret.ts';
import { cleanValue, maxSecretBytes, otherThan, type SecretSource, SourceError } from './secret-source.ts';
import { WatchedFile } from './watched-file.ts';

/** Armour takes a third more, and each recipient a few lines. */
const maxFileBytes = 2 * maxSecretBytes;
/** A file that does not open is left alone this long, unless it changes: a passphrase costs a second of a core. */
const pauseMs = 5000;
const armorBegins = '-----BEGIN AGE ENCRYPTED FILE-----';

/** What opens it: exactly one of them. */
export interface AgeKeys {
  /** The text of an identity file. */
  readonly identity: SecretSource | null;
  readonly passphrase: SecretSource | null;
}

export class AgeSource implements SecretSource {
  readonly #name: string;
  readonly #keys: AgeKeys;
  readonly #now: () => number;
  readonly #file: WatchedFile;
  #secret: Secret | null = null;
  #opening: Promise<Secret> | null = null;
  #failure: { readonly error: SourceError; readonly untilMs: number } | null = null;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(name: string, path: string, keys: AgeKeys, now: () => number = () => performance.now()) {
    this.#name = name;
    this.#keys = keys;
    this.#now = now;
    this.#file = new WatchedFile(path, { maxBytes: maxFileBytes, encrypted: true }, now);
  }

  current(): Secret | Promise<Secret> {
    if (this.#failure !== null && this.#now() >= this.#failure.untilMs) this.#file.forget();
    let content: Buffer | null;
    try {
      content = this.#file.changed();
    } catch (error) {
      this.#forget();
      throw error;
    }
    if (content !== null) this.#startOpening(content);
    if (this.#opening !== null) return this.#opening;
    if (this.#secret !== null) return this.#secret;
    throw this.#failure?.error ?? new SourceError(`${this.#file.path} could not be opened`);
  }

  /** The file may have been replaced since the last look. */
  async renewed(refused: Secret): Promise<Secret | null> {
    this.#file.hurry();
    return otherThan(refused, await this.current());
  }

  /** Whether the file is as it must be; nothing is decrypted for it. */
  listed(): Secret | null {
    this.#file.check();
    if (this.#failure !== null) throw this.#failure.error;
    return this.#secret;
  }

  #startOpening(content: Buffer): void {
    this.#forget();
    const opening = this.#open(content).then(
      (secret) => {
        if (this.#opening === opening) {
          this.#opening = null;
          this.#secret = secret;
        }
        return secret;
      },
      (error: unknown) => {
        const told = error instanceof SourceError ? error : new SourceError(`${this.#file.path} could not be opened`);
        if (this.#opening === opening) {
          this.#opening = null;
          this.#failure = { error: told, untilMs: this.#now() + pauseMs };
        }
        throw told;
      },
    );
    this.#opening = opening;
  }

  #forget(): void {
    this.#secret = null;
    this.#opening = null;
    this.#failure = null;
  }

  async #open(content: Buffer): Promise<Secret> {
    const { path } = this.#file;
    // Loaded when there is such a file: a start of the gateway has no time for it.
    const { Decrypter, armor } = await import('age-encryption');
    const decrypter = new Decrypter();
    const { identity, passphrase } = this.#keys;
    const key = await (passphrase ?? identity)?.current(null);
    if (!key) throw new SourceError(`what opens ${path} is not set`);
    if (passphrase !== null) decrypter.addIdentity(passphraseIdentity(reveal(key)));
    else {
      try {
        for (const line of reveal(key).split(' ')) decrypter.addIdentity(line);
      } catch {
        throw new SourceError(`the identity for ${path} is none of age's: it must hold lines with AGE-SECRET-KEY-1…`);
      }
    }
    let sealed: Uint8Array = content;
    try {
      if (content.toString('latin1').trimStart().startsWith(armorBegins))
        sealed = armor.decode(content.toString('latin1'));
      sealed = await decrypter.decrypt(sealed);
    } catch (error) {
      const mismatch = error instanceof Error && error.message.startsWith('no identity matched');
      throw new SourceError(mismatch ? this.#mismatch() : `${path} is damaged, or not a file that age has encrypted`);
    }
    return new Secret(this.#name, cleanValue(Buffer.from(sealed), `what is in ${path}`));
  }

  #mismatch(): string {
    const { path } = this.#file;
    return this.#keys.passphrase === null
      ? `${path} is not encrypted for this identity: encrypt it again with  age -r (its public key: age-keygen -y)`
      : `${path} does not open with this passphrase`;
  }
}

// Opens an age file that was encrypted with a passphrase (its scrypt stanza, age-encryption.org/v1). The library's own way
// would hold every request up for a second: its scrypt runs in JavaScript on the one thread there is. Here OpenSSL does the
// same work beside it. Never holds the passphrase longer than it is asked to.
const label = 'age-encryption.org/v1/scrypt';
/** Each step doubles time and memory. age writes 18 (256 MiB for a moment), and reads no more than 22. */
const maxWorkFactor = 20;
const saltBytes = 16;
const tagBytes = 16;
const fileKeyBytes = 16;

export function passphraseIdentity(passphrase: string): Identity {
  return {
    async unwrapFileKey(stanzas: Stanza[]): Promise<Uint8Array | null> {
      const [stanza] = stanzas;
      if (stanza === undefined || stanza.args[0] !== 'scrypt') return null;
      // Whoever could add a recipient of his own beside it would know the file, too.
      if (stanzas.length !== 1) throw new Error('a passphrase must be the only way into it');
      const [, salt, workFactor] = stanza.args;
      const factor = /^[1-9][0-9]?$/.test(workFactor ?? '') ? Number(workFactor) : Number.NaN;
      if (!(factor <= maxWorkFactor)) throw new Error(`its work factor is over ${maxWorkFactor}`);
      const salted = Buffer.concat([Buffer.from(label), Buffer.from(salt ?? '', 'base64')]);
      if (salted.length !== label.length + saltBytes || stanza.body.length !== fileKeyBytes + tagBytes) {
        throw new Error('its scrypt stanza is not valid');
      }
      return open(await stretched(passphrase, salted, factor), stanza.body);
    },
  };
}

function stretched(passphrase: string, salt: Buffer, factor: number): Promise<Buffer> {
  const N = 2 ** factor;
  const options = { N, r: 8, p: 1, maxmem: 128 * N * 8 + 1024 * 1024 };
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, 32, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

/** Null: another passphrase. */
function open(key: Buffer, body: Uint8Array): Uint8Array | null {
  // The nonce is all zeros: the key is for this one message.
  const decipher = createDecipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: tagBytes });
  decipher.setAuthTag(body.subarray(fileKeyBytes));
  const fileKey = decipher.update(body.subarray(0, fileKeyBytes));
  try {
    decipher.final();
    return fileKey;
  } catch {
    return null;
  }
}
