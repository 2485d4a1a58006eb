// A source inside of another: the private key behind a token, the identity behind an age file. Whatever it yields is noted
// among the values that must not come back or go out, before the source around it sees it.
import type { Secret } from '../../../path/secret.ts';
import type { KnownSecrets } from '../scrub/known-secrets.ts';
import { atHand, type SecretAsker, type SecretSource } from './secret-source.ts';

export class NotedSource implements SecretSource {
  readonly #source: SecretSource;
  readonly #known: KnownSecrets;

  constructor(source: SecretSource, known: KnownSecrets) {
    this.#source = source;
    this.#known = known;
  }

  get problem(): string | null {
    return this.#source.problem ?? null;
  }

  current(asker: SecretAsker | null): Secret | null | Promise<Secret | null> {
    const found = this.#source.current(asker);
    return found instanceof Promise ? found.then((secret) => this.#note(secret)) : this.#note(found);
  }

  async renewed(refused: Secret, asker: SecretAsker | null): Promise<Secret | null> {
    return this.#note((await this.#source.renewed?.(refused, asker)) ?? null);
  }

  listed(): Secret | null {
    return this.#note(atHand(this.#source));
  }

  async close(): Promise<void> {
    await this.#source.close?.();
  }

  #note(secret: Secret | null): Secret | null {
    if (secret !== null) this.#known.note(secret);
    return secret;
  }
}
