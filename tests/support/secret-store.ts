// A store as the service makes it, over an environment of its own.
import { KnownSecrets } from '../../src/stages/inject/scrub/known-secrets.ts';
import { SecretStore } from '../../src/stages/inject/secret-store.ts';
import { createOpenSource, type SourceParts } from '../../src/stages/inject/sources/open-source.ts';

export function makeSecretStore(env: NodeJS.ProcessEnv = {}, extra: Partial<SourceParts> = {}): SecretStore {
  const known = extra.known ?? new KnownSecrets();
  return new SecretStore(createOpenSource({ env, known, ...extra }), known, extra.now);
}
