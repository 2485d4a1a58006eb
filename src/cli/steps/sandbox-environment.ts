// The variables that lead the clients inside a sandbox to the door and make them trust its CA: each runtime reads its
// own. Holds the sandbox's proof (its own secret), never a credential.
import type { Grant } from '../../gateway/admin/admin-ports.ts';
import { quoteIfNeeded } from '../../kit/text/shell-quote.ts';
import { trustVariables } from '../../sandbox/trust/trust-variables.ts';

export type Variables = readonly (readonly [name: string, value: string])[];

export function sandboxEnvironment(id: string, grant: Grant, caPath: string): Variables {
  const proxy = proxyUrl(id, grant);
  const found: [string, string][] = [];
  if (proxy !== null) {
    // curl reads http_proxy in lower case only; others read only upper case.
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) found.push([name, proxy]);
    // Node 22.21 and later follow the proxy variables only when told to.
    found.push(['NODE_USE_ENV_PROXY', '1']);
  }
  found.push(...Object.entries(trustVariables({ bundle: caPath, certificate: caPath })));
  return found;
}

export function exportLines(variables: Variables): string[] {
  return variables.map(([name, value]) => `export ${name}=${quoteIfNeeded(value)}`);
}

function proxyUrl(id: string, grant: Grant): string | null {
  if (grant.proxy_url === undefined) return null;
  const url = new URL(grant.proxy_url);
  if (grant.secret !== undefined) {
    url.username = id;
    url.password = grant.secret;
  }
  return url.href.replace(/\/$/, '');
}
