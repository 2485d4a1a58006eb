// What a token endpoint of a login is, and what else of its host belongs to it. The endpoint itself is answered by the gateway;
// what stands beside it is not forwarded. Works on names and paths alone.
import type { CredentialSpec, FoundEndpoint, TokenEndpoints } from './compiled.ts';

export function tokenEndpointsOf(credentials: Iterable<CredentialSpec>): TokenEndpoints {
  const byHost = new Map<string, FoundEndpoint[]>();
  for (const spec of credentials) {
    for (const endpoint of spec.login?.tokenEndpoints ?? []) {
      byHost.set(endpoint.host, [...(byHost.get(endpoint.host) ?? []), { spec, endpoint }]);
    }
  }
  const on = (host: string): readonly FoundEndpoint[] => byHost.get(host) ?? [];
  return {
    on,
    at(host, path) {
      const asked = spelt(path);
      return on(host).find(({ endpoint }) => spelt(endpoint.path) === asked);
    },
    beside(host, path) {
      const asked = spelt(path);
      return on(host).find(({ endpoint }) => standsBeside(asked, spelt(endpoint.path)));
    },
  };
}

function standsBeside(asked: string, own: string): boolean {
  const folder = /^.*?\/oauth[^/]*(?=\/)/.exec(own)?.[0];
  if (folder !== undefined && (asked === folder || /^[./;:]/.test(rest(asked, folder)))) return true;
  return asked !== own && /^[./;:]/.test(rest(asked, own));
}

function rest(path: string, beginning: string): string {
  return path.startsWith(beginning) ? path.slice(beginning.length) : '';
}

/** Guards: a spelling that the far side takes for the endpoint, and that would be forwarded. */
function spelt(path: string): string {
  return path.replace(/\/+/g, '/').replace(/\/$/, '').toLowerCase();
}
