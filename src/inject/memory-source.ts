// A credential that an operator hands over with `sallyport secret set`: kept in this process's memory and nowhere
// else, gone when the gateway stops.
import { Secret } from '../flow/secret.ts';
import { cleanValue, type SecretSource } from './secret-source.ts';

export class MemorySource implements SecretSource {
  readonly #name: string;
  #secret: Secret | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  set(value: string): void {
    this.#secret = new Secret(this.#name, cleanValue(value, 'the value'));
  }

  /** False: there was nothing. */
  clear(): boolean {
    const had = this.#secret !== null;
    this.#secret = null;
    return had;
  }

  current(): Secret | null {
    return this.#secret;
  }
}
