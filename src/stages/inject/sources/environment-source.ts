// A credential in the gateway's own environment (an explicit opt-in of the configuration). The variable is taken
// out of the environment when it is first read, so that no child process and no diagnostic report carries it on.
import { Secret } from '../../../path/secret.ts';
import { cleanValue, type SecretSource } from './secret-source.ts';

/** Variables that were taken out, kept so that a reload still finds them. */
export class TakenEnvironment {
  readonly #env: NodeJS.ProcessEnv;
  readonly #taken = new Map<string, string>();

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  take(variable: string): string | null {
    const value = this.#env[variable];
    if (value !== undefined) {
      this.#taken.set(variable, value);
      delete this.#env[variable];
    }
    return this.#taken.get(variable) ?? null;
  }
}

export class EnvironmentSource implements SecretSource {
  readonly #name: string;
  readonly #variable: string;
  readonly #value: string | null;
  #secret: Secret | null = null;

  constructor(name: string, variable: string, environment: TakenEnvironment) {
    this.#name = name;
    this.#variable = variable;
    this.#value = environment.take(variable);
  }

  current(): Secret | null {
    if (this.#value === null || this.#value === '') return null;
    this.#secret ??= new Secret(this.#name, cleanValue(this.#value, `the environment variable ${this.#variable}`));
    return this.#secret;
  }
}
