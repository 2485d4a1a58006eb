// The password of the store that gateways share: asked of its source with every new connection, so that a changed one is
// taken. It goes to the store's own client and nowhere else.
import { reveal } from '../../path/secret.ts';
import type { PlainSource } from '../../policy/compiled.ts';
import { KnownSecrets } from './scrub/known-secrets.ts';
import { createOpenSource } from './sources/open-source.ts';

/** Resolves to null where none is configured. Rejects in words for the operator. */
export function openStorePassword(spec: PlainSource | null, env: NodeJS.ProcessEnv): () => Promise<string | null> {
  if (spec === null) return async () => null;
  const source = createOpenSource({ known: new KnownSecrets(), env })('store password', spec);
  return async () => {
    const secret = await source.current(null);
    if (secret === null) throw new Error('the password of the store is not there: look at store.password');
    return reveal(secret);
  };
}
