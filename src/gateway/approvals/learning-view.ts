// The policy as it holds for a sandbox that learns: one more rule, behind all others, that lets it read hosts of which the policy
// says nothing. Without any credential, over https, and only where the gateway itself sees that the address is public. Never
// relaxes what the policy says of hosts that it knows.
import type { AllowRule, CompiledPolicy } from '../../policy/compiled.ts';
import { knownHosts } from '../../policy/explain/known-hosts.ts';
import { anyHost } from '../../policy/host-pattern.ts';

/** What the journal says of requests that passed by it. No entry of a document has such a name. */
const learningRuleName = 'learning';

const learning: AllowRule = {
  name: learningRuleName,
  line: null,
  host: anyHost,
  methods: new Set(['GET', 'HEAD']),
  paths: null,
  ports: [443],
  plainHttp: false,
  tunnel: false,
  conversation: false,
  ask: false,
  bare: true,
};

/** Why nothing can be learned under this policy, in words; null: it can. */
export function whyNoLearning({ upstream }: CompiledPolicy): string | null {
  // The names are resolved by that proxy (docs/adr/005): what it finds inside cannot be told from what is public.
  return upstream.proxy === null || !upstream.proxy.byName
    ? null
    : 'upstream.proxy resolves the names, so the gateway cannot see whether an unknown host is public';
}

/** Names at most this often remembered as known or not, so that a flood of made-up ones costs no memory. */
const maxRemembered = 4096;

export function learningView(policy: CompiledPolicy): CompiledPolicy {
  if (whyNoLearning(policy) !== null) return policy;
  const known = knownHosts(policy);
  const remembered = new Map<string, readonly AllowRule[]>();
  const rulesFor = (host: string): readonly AllowRule[] => {
    const before = remembered.get(host);
    if (before !== undefined) return before;
    const rules = policy.rulesFor(host);
    // A name without a dot is a name of some inside.
    const all = known.names(host) || !host.includes('.') ? rules : [...rules, learning];
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(host, all);
    return all;
  };
  return { ...policy, allow: [...policy.allow, learning], rulesFor };
}
