// The API keys that the user already has: for `sallyport run`, where a credential that nobody configured is looked for in
// the user's environment and in the files of the user's agents. Looks once per credential, when it is first asked for,
// and says where it found it; never takes a login that has to be refreshed.
import { Secret } from '../flow/secret.ts';
import type { TakenEnvironment } from './environment-source.ts';
import { cleanValue, SourceError } from './secret-source.ts';
import { readUserFile, UnusableFile } from './user-key-file.ts';
import { askGh } from './user-key-gh.ts';
import { ghHost, ghHostsPath, type UserKeyFile, userKeyPlaces } from './user-key-places.ts';

export interface UserKey {
  readonly secret: Secret | null;
  /** Where it was found, in words: `environment OPENAI_API_KEY`, `~/.codex/auth.json`. Null with `secret`. */
  readonly origin: string | null;
  /** A place that looked like it holds the key and was left alone, and why. */
  readonly problem: string | null;
}

export interface UserKeysOptions {
  /** The user's home. */
  readonly home: string;
  /** Where agents may write: no program is run from there. */
  readonly workingDirectory: string;
  /** For finding and running gh; keys are taken out of the store's own. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
}

export class UserKeys {
  readonly #options: UserKeysOptions;
  readonly #found = new Map<string, UserKey>();

  constructor(options: UserKeysOptions) {
    this.#options = options;
  }

  /** Always the same answer for the same name. */
  find(name: string, environment: TakenEnvironment): UserKey {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const found = this.#look(name, environment);
    this.#found.set(name, found);
    return found;
  }

  #look(name: string, environment: TakenEnvironment): UserKey {
    const places = userKeyPlaces.get(name);
    if (places === undefined) return { secret: null, origin: null, problem: null };
    const problems: string[] = [];
    const attempt = (origin: string, read: () => string | null): UserKey | null => {
      try {
        const value = read();
        if (value === null) return null;
        return { secret: new Secret(name, cleanValue(value, origin)), origin, problem: null };
      } catch (error) {
        problems.push(
          error instanceof UnusableFile || error instanceof SourceError
            ? error.message
            : `${origin} was left alone: it is not what its agent writes`,
        );
        return null;
      }
    };
    // Every one is taken out, also behind the first that is set: none may be inherited by what we start.
    const taken = places.variables.map((variable) => ({ variable, value: environment.take(variable) }));
    for (const { variable, value } of taken) {
      const key = attempt(`environment ${variable}`, () => (value === '' ? null : value));
      if (key !== null) return key;
    }
    for (const file of places.files) {
      const key = attempt(`~/${file.path}`, () => this.#read(file));
      if (key !== null) return key;
    }
    const asked = name === 'github' ? attempt('gh auth token', () => this.#askGh()) : null;
    return asked ?? { secret: null, origin: null, problem: problems[0] ?? null };
  }

  #read({ path, find }: UserKeyFile): string | null {
    const text = readUserFile(this.#options.home, path);
    return text === null ? null : find(text);
  }

  /** Only where gh says that somebody is logged in and does not say the token: starting it costs time. */
  #askGh(): string | null {
    const { home, workingDirectory, env = process.env } = this.#options;
    const text = readUserFile(home, ghHostsPath);
    if (text === null || ghHost(text)?.token !== null) return null;
    return askGh({ env, home, workingDirectory });
  }
}
