// The API keys and logins that the user already has: for `sallyport run`, where a credential that nobody configured is looked
// for in the user's environment and in the files of the user's agents. Looks once per credential, when it is first asked
// for, and says where it found it. A key comes before a login: it costs the user nothing when somebody else renews it.
import type { AboutSecret } from '../../../path/secret.ts';
import { awsKeysFromEnvironment } from '../aws/aws-keys.ts';
import { userLogins } from '../logins/login-agents.ts';
import { fixedSource } from '../logins/oauth-fixed-source.ts';
import { openKnownLogin } from '../logins/oauth-open.ts';
import type { OAuthPorts } from '../logins/oauth-source.ts';
import type { TakenEnvironment } from './environment-source.ts';
import { cleanValue, type SecretSource, SourceError } from './secret-source.ts';
import { readUserFile, UnusableFile } from './user-key-file.ts';
import { askGh } from './user-key-gh.ts';
import { ghHost, ghHostsPath, type UserKeyFile, userKeyPlaces } from './user-key-places.ts';

export interface UserKey {
  readonly source: SecretSource | null;
  /** Where it was found, in words: `environment OPENAI_API_KEY`, `ChatGPT login in ~/.codex/auth.json`. Null with `source`. */
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
  /** What it takes to renew a login; null or absent: no logins are used. */
  readonly logins?: OAuthPorts | null;
}

const nothing: UserKey = { source: null, origin: null, problem: null };

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
    const problems: string[] = [];
    const attempt = (origin: string, read: () => SecretSource | null): UserKey | null => {
      try {
        const source = read();
        return source === null ? null : { source, origin, problem: null };
      } catch (error) {
        problems.push(
          error instanceof UnusableFile || error instanceof SourceError
            ? error.message
            : `${origin} was left alone: it is not what its agent writes`,
        );
        return null;
      }
    };
    const attemptValue = (origin: string, read: () => string | null, about: AboutSecret = {}): UserKey | null =>
      attempt(origin, () => {
        const value = read();
        return value === null ? null : fixedSource(name, cleanValue(value, origin), about);
      });
    // Every one is taken out, also behind the first that is set: none may be inherited by what we start.
    const taken = [...(places?.variables ?? []), ...(places?.loginVariables ?? [])].map((variable) => ({
      variable,
      value: environment.take(variable),
      about: { login: places?.loginVariables.includes(variable) ?? false },
    }));
    for (const { variable, value, about } of taken) {
      const key = attemptValue(`environment ${variable}`, () => (value === '' ? null : value), about);
      if (key !== null) return key;
    }
    if (name === 'aws') {
      // A pair, and of temporary keys a token with it: none counts without the others.
      const pair = attemptValue('environment AWS_ACCESS_KEY_ID', () =>
        awsKeysFromEnvironment((variable) => environment.take(variable)),
      );
      if (pair !== null) return pair;
    }
    for (const file of places?.files ?? []) {
      const key = attemptValue(`~/${file.path}`, () => this.#read(file));
      if (key !== null) return key;
    }
    const asked = name === 'github' ? attemptValue('gh auth token', () => this.#askGh()) : null;
    if (asked !== null) return asked;
    const { logins = null, home } = this.#options;
    for (const { words, ...spec } of logins === null ? [] : (userLogins.get(name) ?? [])) {
      if (logins === null) break;
      const source = openKnownLogin(name, spec, { ...logins, home });
      const login = attempt(`${words} in ${source.origin}`, () => (source.isLoggedIn() ? source : null));
      if (login !== null) return login;
    }
    return { ...nothing, problem: problems[0] ?? null };
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
