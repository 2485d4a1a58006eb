// Which credential belongs to a request: one that has a place on this host and this path, and that this sandbox may
// use. Chooses a name only; never sees a value. No credential travels over plain http or into a tunnel.
import type { CanonicalRequest } from '../../path/flow.ts';
import { passesUnread } from '../../path/passes-unread.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { CompiledPolicy, Placement } from '../../policy/compiled.ts';
import { coversPath } from './path-forms.ts';

/** The first in the document, when several could go; null: the request goes on without one. */
export function chooseCredential(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): string | null {
  if (canonical.scheme !== 'https' || passesUnread(canonical.kind) || canonical.kind === 'connect') return null;
  for (const credential of policy.credentialsFor(canonical.host)) {
    if (sandbox.credentials !== null && !sandbox.credentials.includes(credential.name)) continue;
    for (const placement of credential.placements) if (isPlaced(placement, canonical)) return credential.name;
  }
  return null;
}

function isPlaced(placement: Placement, canonical: CanonicalRequest): boolean {
  return placement.hosts.some((host) => host.covers(canonical.host)) && coversPath(placement.paths, canonical);
}
