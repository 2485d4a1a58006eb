// The login for a registry that a user's own tool keeps: read out of its file when it is needed, or asked of the program that the
// file names. A registry of images gives a token for it, for one repository at a time: that goes out, and the login does not.
import { execFile } from 'node:child_process';
import { readRegistryLogins, registryFiles } from '../../../kit/registries/registry-files.ts';
import { type RegistryTexts, readPair } from '../../../kit/registries/registry-login.ts';
import { Secret } from '../../../path/secret.ts';
import type { RegistrySpec } from '../../../policy/compiled.ts';
import { type ImageAsker, ImageTokens, type RegistryPorts } from './image-tokens.ts';
import { cleanValue, type SecretAsker, type SecretSource, SourceError } from './secret-source.ts';
import { readUserFile, UnusableFile } from './user-key-file.ts';

/** One look a second costs nothing, one a request would. */
const recheckMs = 1_000;
/** A program is asked again after so long. */
const helperMs = 300_000;
const helperTimeMs = 10_000;
const maxHelperBytes = 64 * 1024;

export class RegistrySource implements SecretSource {
  readonly origin: string;
  readonly #name: string;
  readonly #spec: RegistrySpec;
  readonly #env: NodeJS.ProcessEnv;
  readonly #note: (secret: Secret) => void;
  readonly #now: () => number;
  readonly #tokens: ImageTokens | null;
  #kept: Secret | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    name: string,
    spec: RegistrySpec,
    env: NodeJS.ProcessEnv,
    note: (secret: Secret) => void,
    ports: RegistryPorts | null,
    now: () => number = () => performance.now(),
  ) {
    this.#name = name;
    this.#spec = spec;
    this.#env = env;
    this.#note = note;
    this.#now = now;
    const { helper } = spec.place;
    this.origin = helper === null ? `~/${spec.file}` : `docker-credential-${helper}`;
    this.#tokens =
      spec.family === 'docker' && ports !== null ? new ImageTokens(name, spec.place.host, ports, note) : null;
  }

  current(asker: SecretAsker | null): Secret | null | Promise<Secret | null> {
    const login = this.#login();
    if (this.#tokens === null || asker?.canonical === undefined) return login;
    return this.#exchanged(login, asker.canonical);
  }

  listed(): Secret | null {
    if (this.#spec.place.helper !== null) return this.#kept;
    const login = this.#login();
    return login instanceof Promise ? null : login;
  }

  async renewed(): Promise<Secret | null> {
    this.#lookedAt = Number.NEGATIVE_INFINITY;
    this.#tokens?.forget();
    return null;
  }

  async #exchanged(
    login: Secret | null | Promise<Secret | null>,
    canonical: ImageAsker['canonical'],
  ): Promise<Secret | null> {
    const pair = await login;
    return pair === null ? null : await this.#tokens!.tokenFor(pair, canonical);
  }

  #login(): Secret | null | Promise<Secret | null> {
    const { helper } = this.#spec.place;
    const age = this.#now() - this.#lookedAt;
    if (age < (helper === null ? recheckMs : helperMs)) return this.#kept;
    if (helper !== null) return this.#ask(helper);
    this.#lookedAt = this.#now();
    this.#keep(this.#read());
    return this.#kept;
  }

  #keep(value: string | null): void {
    if (value === null) this.#kept = null;
    else this.#kept = new Secret(this.#name, cleanValue(value, this.origin));
    // The password by itself too: it is what an answer may hold.
    const pair = value !== null && this.#spec.place.form === 'pair' ? readPair(value) : null;
    if (pair !== null) this.#note(new Secret(this.#name, pair.password));
  }

  #read(): string | null {
    const { family, home, place } = this.#spec;
    const texts = new Map<string, string>();
    try {
      for (const file of registryFiles[family]) {
        const text = readUserFile(home, file);
        if (text !== null) texts.set(file, text);
      }
    } catch (error) {
      if (error instanceof UnusableFile) throw new SourceError(error.message);
      throw error;
    }
    return this.#find(texts, place.path);
  }

  #find(texts: RegistryTexts, path: string): string | null {
    const { family, place } = this.#spec;
    const found = readRegistryLogins(family, texts, this.#env).find(
      (login) => login.host === place.host && login.path === path && login.form === place.form,
    );
    return found === undefined || found.username !== place.username ? null : found.secret;
  }

  async #ask(helper: string): Promise<Secret | null> {
    const output = await runHelper(helper, this.#spec.place.host, this.#env);
    let answer: unknown;
    try {
      answer = JSON.parse(output);
    } catch {
      throw new SourceError(`docker-credential-${helper} answered with something else than a login`);
    }
    const { Username: username, Secret: secret } = Object(answer) as Record<string, unknown>;
    if (typeof username !== 'string' || typeof secret !== 'string' || username === '' || secret === '') {
      throw new SourceError(`docker-credential-${helper} has no login for ${this.#spec.place.host}`);
    }
    this.#lookedAt = this.#now();
    this.#keep(Buffer.from(`${username}:${secret}`).toString('base64'));
    return this.#kept;
  }
}

function runHelper(helper: string, host: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { PATH, HOME, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = env;
  const options = {
    // Guards: a program that takes its settings from where it stands, started in an agent's folder.
    cwd: '/',
    env: { PATH, HOME, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS },
    timeout: helperTimeMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: maxHelperBytes,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(`docker-credential-${helper}`, ['get'], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new SourceError(`docker-credential-${helper} gave no login for ${host}`));
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(host === 'registry-1.docker.io' ? 'https://index.docker.io/v1/' : host);
  });
}
