// A credential in a file that age has encrypted, for an identity or with a passphrase: opened in memory alone, opened again
// when the file changes. The file may lie where others read it, never where they write it. What the library says of a file
// or a key reaches no error: it may quote them.
import { reveal, Secret } from '../../../path/secret.ts';
import { passphraseIdentity } from './age-passphrase.ts';
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
