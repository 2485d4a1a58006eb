// The login of the operator's own proxy (`upstream.proxy`): asked of its source with every connection through it. It goes to that
// proxy and nowhere else; answers and requests are searched for it like for every credential.
import { Refusal } from '../../path/refusal.ts';
import { reveal, Secret } from '../../path/secret.ts';
import type { CompiledPolicy, PlainSource, ProxyLogin } from '../../policy/compiled.ts';
import type { KnownSecrets } from './scrub/known-secrets.ts';
import { createOpenSource } from './sources/open-source.ts';
import type { SecretSource } from './sources/secret-source.ts';

const name = 'upstream proxy';

/** Resolves to the value of Proxy-Authorization; null: the proxy asks for none. Rejects with a Refusal. */
export function openProxyLogin(
  policy: () => CompiledPolicy,
  env: NodeJS.ProcessEnv,
  known: KnownSecrets,
): () => Promise<string | null> {
  const openSource = createOpenSource({ known, env });
  let opened: { readonly spec: PlainSource; readonly source: SecretSource } | null = null;
  const passwordOf = async (spec: PlainSource): Promise<string> => {
    if (opened?.spec !== spec) opened = { spec, source: openSource(name, spec) };
    const secret = await opened.source.current(null);
    if (secret === null) throw new Error('it is not there: look at upstream.proxy.password');
    known.note(secret);
    return reveal(secret);
  };
  const basic = (username: string, password: string): string => {
    const value = Buffer.from(`${username}:${password}`).toString('base64');
    known.note(new Secret(name, value));
    return `Basic ${value}`;
  };
  const loginOf = async (login: ProxyLogin): Promise<string | null> => {
    if (login.kind === 'own') return basic(login.username, await passwordOf(login.password));
    const text = env[login.variable] ?? '';
    const { username, password } = new URL(text.includes('://') ? text : `http://${text}`);
    if (password !== '') known.note(new Secret(name, decodeURIComponent(password)));
    return basic(decodeURIComponent(username), decodeURIComponent(password));
  };
  return async () => {
    const login = policy().upstream.proxy?.login ?? null;
    if (login === null) return null;
    try {
      return await loginOf(login);
    } catch (cause) {
      throw new Refusal('upstream.proxy', 'the login of the upstream proxy cannot be had', {
        rule: 'upstream.proxy',
        hint: 'The operator of the gateway must repair upstream.proxy.password.',
        cause,
      });
    }
  };
}
