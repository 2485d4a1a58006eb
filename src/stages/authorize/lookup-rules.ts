// DNS: may this sandbox know that this name exists. It may when any rule of the allowlist covers the host, whatever the
// rule says of ports, methods and paths: those are judged when it comes to the door. Never resolves anything.
import type { CanonicalRequest, Permission } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { hostNotAllowed } from './allow-rules.ts';

/** Records that carry free text or everything at once: the ways to talk over DNS. */
const refusedType = /^\/(?:ANY|TXT|NULL|AXFR|IXFR|TYPE\d+)$/;

export function decideLookup(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): Permission {
  const [rule] = policy.rulesFor(canonical.host);
  if (rule === undefined) throw hostNotAllowed(sandbox, canonical);
  refuseTalkingType(canonical);
  return { rule: rule.name, tunnel: false, credential: null, git: null, github: null, repository: null };
}

export function refuseTalkingType({ host, path }: CanonicalRequest): void {
  if (!refusedType.test(path)) return;
  throw new Refusal('method.not-allowed', `${path.slice(1)} records are not looked up for a sandbox (${host})`, {
    rule: 'built-in: DNS tells addresses only',
    hint: 'Ask for A or AAAA records. You need no others to reach a host through the gateway.',
  });
}
