// What a token endpoint of a login is, and what else of its host belongs to it: one lookup for the door, `check` and the
// search for misplaced placeholders. The endpoint itself is answered here; what stands beside it is not forwarded.
import type { CompiledPolicy, CredentialSpec, TokenEndpoint } from './compiled.ts';

export interface FoundEndpoint {
  readonly spec: CredentialSpec;
  readonly endpoint: TokenEndpoint;
}

/** A policy with wildcards lets a sandbox think up names without end. */
const maxHosts = 4096;

/** By the credentials of a policy: copies of one policy share them. */
const known = new WeakMap<CompiledPolicy['credentials'], Map<string, readonly FoundEndpoint[]>>();

/** The endpoints of every login that the policy knows on this host, whether or not its preset is in use. */
export function tokenEndpointsOn({ credentials }: CompiledPolicy, host: string): readonly FoundEndpoint[] {
  let byHost = known.get(credentials);
  if (byHost === undefined) {
    byHost = new Map();
    known.set(credentials, byHost);
  }
  let found = byHost.get(host);
  if (found === undefined) {
    if (byHost.size >= maxHosts) byHost.clear();
    found = [...credentials.values()].flatMap((spec) =>
      (spec.login?.tokenEndpoints ?? []).flatMap((endpoint) => (endpoint.host === host ? { spec, endpoint } : [])),
    );
    byHost.set(host, found);
  }
  return found;
}

/** Where a request for this path is answered; undefined: it is not answered here. */
export function tokenEndpointAt(policy: CompiledPolicy, host: string, path: string): FoundEndpoint | undefined {
  const endpoints = tokenEndpointsOn(policy, host);
  if (endpoints.length === 0) return undefined;
  const asked = spelt(path);
  return endpoints.find(({ endpoint }) => spelt(endpoint.path) === asked);
}

/**
 * The endpoint that this path stands beside: another spelling of it (`/oauth/token.json`), what is below it, and all of
 * `/oauth/**` where it lies in such a folder. The far side would make, show or end a login there.
 */
export function besideTokenEndpoint(policy: CompiledPolicy, host: string, path: string): FoundEndpoint | undefined {
  const endpoints = tokenEndpointsOn(policy, host);
  if (endpoints.length === 0) return undefined;
  const asked = spelt(path);
  return endpoints.find(({ endpoint }) => {
    const own = spelt(endpoint.path);
    const folder = /^.*?\/oauth[^/]*(?=\/)/.exec(own)?.[0];
    if (folder !== undefined && (asked === folder || /^[./;:]/.test(rest(asked, folder)))) return true;
    return asked !== own && /^[./;:]/.test(rest(asked, own));
  });
}

function rest(path: string, beginning: string): string {
  return path.startsWith(beginning) ? path.slice(beginning.length) : '';
}

/** Guards: a spelling that the far side takes for the endpoint, and that would be forwarded. */
function spelt(path: string): string {
  return path.replace(/\/+/g, '/').replace(/\/$/, '').toLowerCase();
}
