// The API keys and logins that the user already has: for `sallyport run`, where a credential that nobody configured is looked
// for in the user's environment and in the files of the user's agents. Looks once per credential, when it is first asked
// for, and says where it found it. A key comes before a login: it costs the user nothing when somebody else renews it.

import { execFileSync } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import type { AboutSecret } from '../../../path/secret.ts';
import { awsKeysFromEnvironment } from '../aws/aws-keys.ts';
import { userLogins } from '../logins/login-agents.ts';
import { fixedSource } from '../logins/oauth-fixed-source.ts';
import { openKnownLogin } from '../logins/oauth-open.ts';
import type { OAuthPorts } from '../logins/oauth-source.ts';
import type { TakenEnvironment } from './environment-source.ts';
import { cleanValue, type SecretSource, SourceError } from './secret-source.ts';
import { readUserFile, UnusableFile } from './user-key-file.ts';
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

// Asks gh for the token that it keeps in the user's keyring. A program is run for it, on the user's side of the door and
// with the user's rights: so never one that an agent could have put there.
/** A locked keyring asks a person for its password, and nobody may be there. */
const timeLimitMs = 5000;
/** What gh and the keyring's client need to find themselves; nothing that could be a credential. */
const passedOn = ['HOME', 'USER', 'LANG', 'LC_ALL', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'DBUS_SESSION_BUS_ADDRESS'];

interface GhPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The sandbox's working directory, where agents write. */
  readonly workingDirectory: string;
}

/** null: gh is not there, or has no token to give. */
function askGh(place: GhPlace): string | null {
  const program = findGh(place);
  if (program === null) return null;
  const env: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin', GH_NO_UPDATE_NOTIFIER: '1' };
  for (const name of passedOn) {
    const value = place.env[name];
    if (value !== undefined) env[name] = value;
  }
  try {
    const printed = execFileSync(program, ['auth', 'token', '--hostname', 'github.com'], {
      env: { ...env, HOME: place.home },
      cwd: '/',
      encoding: 'utf8',
      timeout: timeLimitMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return printed.trim() === '' ? null : printed.trim();
  } catch {
    // The error of a child process carries what it printed; it goes no further.
    return null;
  }
}

/** Guards: `node_modules/.bin` in PATH (npx puts it there) with a `gh` that an agent wrote in an earlier run. */
function findGh({ env, workingDirectory }: GhPlace): string | null {
  const agents = realpathSync(workingDirectory);
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    try {
      const program = realpathSync(join(folder, 'gh'));
      accessSync(program, constants.X_OK);
      if (!isWithin(agents, program) && !isWithin(agents, realpathSync(folder))) return program;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
