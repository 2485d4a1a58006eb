// Nothing near the token endpoint of a login is forwarded, whichever rule covers it: another spelling of the endpoint, or
// another flow beside it, would hand out a login. The gateway answers the endpoint itself.
import type { CanonicalRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { readingsOf } from './path-forms.ts';

/** // Guards: threats.md T82 */
export function refuseBesideTokenEndpoint({ tokenEndpoints }: CompiledPolicy, canonical: CanonicalRequest): void {
  const { host, method, path } = canonical;
  if (tokenEndpoints.at(host, path) !== undefined) return;
  for (const reading of readingsOf(canonical)) {
    // A reading that is the endpoint, of a path that is not answered as such, is one more spelling of it.
    const found = tokenEndpoints.beside(host, reading) ?? tokenEndpoints.at(host, reading);
    if (found === undefined) continue;
    throw new Refusal(
      'token.login-outside',
      `${method} ${host}${path} is too close to ${found.endpoint.path}, where a login gets its tokens`,
      {
        rule: `credentials.${found.spec.name}`,
        hint: `The gateway itself answers ${found.endpoint.path} and forwards nothing near it. Log in outside the sandbox: the gateway uses that login and renews it.`,
      },
    );
  }
}
