// A store as the service makes it, over an environment of its own.
import { KnownSecrets } from '../../src/inject/known-secrets.ts';
import { createOpenSource, type SourceParts } from '../../src/inject/open-source.ts';
import { SecretStore } from '../../src/inject/secret-store.ts';

export function makeSecretStore(env: NodeJS.ProcessEnv = {}, extra: Partial<SourceParts> = {}): SecretStore {
  const known = extra.known ?? new KnownSecrets();
  return new SecretStore(createOpenSource({ env, known, ...extra }), known, extra.now);
}
