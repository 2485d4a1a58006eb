// From where the configuration says a credential comes from to the source that brings it. Sources inside of others (a
// private key, a passphrase) are opened here too, and what they yield is noted before anyone sees it.

import type { Secret } from '../../../path/secret.ts';
import type { PlainSource, SourceSpec } from '../../../policy/compiled.ts';
import { AwsKeysSource } from '../aws/aws-keys-source.ts';
import { AwsProfileSource } from '../aws/aws-profile-source.ts';
import { type OAuthDeps, openLogin, openOAuth, openServiceAccount } from '../logins/oauth-open.ts';
import type { KnownSecrets } from '../scrub/known-secrets.ts';
import { AgeSource } from './age-source.ts';
import { CommandSource } from './command-source.ts';
import { EnvironmentSource, TakenEnvironment } from './environment-source.ts';
import { FileSource } from './file-source.ts';
import { type GithubAppPorts, GithubAppSource } from './github-app-source.ts';
import type { RegistryPorts } from './image-tokens.ts';
import { KeyringSource } from './keyring-source.ts';
import { MemorySource } from './memory-source.ts';
import { RegistrySource } from './registry-source.ts';
import { atHand, type SecretAsker, type SecretSource } from './secret-source.ts';
import type { UserKey, UserKeys } from './user-keys.ts';

/** `isPair`: its value is a pair of keys that requests are signed with. */
export type OpenSource = (name: string, spec: SourceSpec, isPair?: boolean) => SecretSource;

export interface SourceParts {
  readonly known: KnownSecrets;
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Null: a GitHub App cannot be a source. */
  readonly githubApps?: GithubAppPorts | null;
  /** What it takes to renew tokens, and where agents keep theirs; null: none can be a source. */
  readonly oauth?: OAuthDeps | null;
  /** Null: a credential without a source waits for `secret set`; else the user's own key stands in until then. */
  readonly userKeys?: UserKeys | null;
  /** How tokens of registries of images are asked for; null: their logins go out as they are. */
  readonly registries?: RegistryPorts | null;
}

export function createOpenSource(parts: SourceParts): OpenSource {
  const { known, env, now = Date.now, githubApps = null, oauth = null, userKeys = null, registries = null } = parts;
  const environment = new TakenEnvironment(env);

  const userKeyOf = (name: string): (() => UserKey) | null =>
    userKeys === null ? null : () => userKeys.find(name, environment);

  const within = (name: string, spec: PlainSource): SecretSource => new NotedSource(plain(name, spec), known);

  const withinOrNone = (name: string, spec: PlainSource | null): SecretSource | null =>
    spec === null ? null : within(name, spec);

  const plain = (name: string, spec: PlainSource): SecretSource => {
    switch (spec.kind) {
      case 'file':
        return new FileSource(name, spec.path);
      case 'command':
        return new CommandSource(name, spec.argv, spec.ttlSeconds, { env, passEnv: spec.passEnv ?? [] });
      case 'environment':
        return new EnvironmentSource(name, spec.variable, environment);
      case 'memory':
        return new MemorySource(name, userKeyOf(name));
      case 'age':
        return new AgeSource(name, spec.path, {
          identity: withinOrNone(`${name} identity`, spec.identity),
          passphrase: withinOrNone(`${name} passphrase`, spec.passphrase),
        });
      case 'keyring':
        return new KeyringSource(name, spec.attributes, { env });
    }
  };

  const renewing = (name: string): OAuthDeps => {
    if (oauth === null) throw new Error(`credential ${name}: no way to a token endpoint was handed in`);
    return oauth;
  };

  const open = (name: string, spec: SourceSpec): SecretSource => {
    switch (spec.kind) {
      case 'github-app': {
        if (githubApps === null) throw new Error(`credential ${name}: no way to GitHub was handed in`);
        return new GithubAppSource(name, spec, within(`${name} private key`, spec.privateKey), githubApps, now);
      }
      case 'login':
        return openLogin(name, spec, renewing(name));
      case 'oauth':
        return openOAuth(name, spec, within, renewing(name));
      case 'google-service-account':
        return openServiceAccount(name, spec, within, renewing(name));
      case 'registry':
        return new RegistrySource(name, spec, env, (secret) => known.note(secret), registries);
      case 'aws-profile':
        return new AwsProfileSource(name, spec, oauth === null ? {} : { home: oauth.home });
      default:
        return plain(name, spec);
    }
  };

  return (name, spec, isPair = false) => {
    const source = open(name, spec);
    return isPair ? new AwsKeysSource(source, (secret) => known.note(secret), now) : source;
  };
}

// A source inside of another: the private key behind a token, the identity behind an age file. Whatever it yields is noted
// among the values that must not come back or go out, before the source around it sees it.
class NotedSource implements SecretSource {
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
