// A credential in a file of its own. Taken up again when the file changes; never goes on with an old value once the file
// is bad.
import { Secret } from '../../../path/secret.ts';
import { cleanValue, maxSecretBytes, otherThan, type SecretSource } from './secret-source.ts';
import { WatchedFile } from './watched-file.ts';

export class FileSource implements SecretSource {
  readonly #name: string;
  readonly #file: WatchedFile;
  #secret: Secret | null = null;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(name: string, path: string, now: () => number = () => performance.now()) {
    this.#name = name;
    this.#file = new WatchedFile(path, { maxBytes: maxSecretBytes, encrypted: false }, now);
  }

  current(): Secret {
    try {
      const content = this.#file.changed();
      if (content !== null || this.#secret === null) {
        this.#secret = new Secret(this.#name, cleanValue(content ?? '', this.#file.path));
      }
      return this.#secret;
    } catch (error) {
      this.#secret = null;
      this.#file.forget();
      throw error;
    }
  }

  /** The file may have been replaced since the last look. */
  async renewed(refused: Secret): Promise<Secret | null> {
    this.#file.hurry();
    return otherThan(refused, this.current());
  }
}
