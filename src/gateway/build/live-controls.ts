// What is live in this process, as `sallyport up`, the health endpoint and the tests are told it. Each line is asked of
// the part that does the work; a part that is not running says so.

import { readSeal } from '../../kit/process/core-dumps.ts';
import type { Stages } from '../../path/paths.ts';
import type { SharedStore } from '../../path/shared-store.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { Budgets, Limits } from '../../policy/compiled-limits.ts';
import type { Ca } from '../../stages/accept/tls/ca.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import { scrubWorks } from '../../stages/inject/scrub/secret-scrub.ts';
import type { LiveControl } from '../admin/admin-ports.ts';
import type { DescribedJournals } from './describe-journals.ts';

export interface ControlSources {
  readonly policy: CompiledPolicy;
  readonly ca: Ca;
  readonly journal: DescribedJournals;
  readonly registry: SandboxRegistry;
  readonly doors: readonly string[];
  /** How many sandboxes have a door in their namespace. */
  readonly namespaces: number;
  /** Null: this process serves the doors itself. */
  readonly store: Pick<SharedStore, 'name' | 'away'>;
  readonly workers: { readonly live: boolean; readonly detail: string } | null;
  readonly docker: { readonly live: boolean; readonly detail: string };
  /** Whether anybody looks on who could be asked, and what waits. */
  readonly people: { readonly watchers: number; readonly waiting: number };
  /** Where the page for people is; null: none is served. */
  readonly page: string | null;
  readonly rejected: Error | null;
  /** Whether what sandboxes send is searched. */
  readonly outbound: boolean;
  readonly stages: Stages;
}

export function describeControls({
  policy,
  ca,
  journal,
  registry,
  doors,
  namespaces,
  store,
  workers,
  docker,
  people,
  page,
  rejected,
  outbound,
  stages,
}: ControlSources): LiveControl[] {
  const blocked = [...policy.blockedApiPatterns.values()].reduce((sum, patterns) => sum + patterns.length, 0);
  const { limits, upstream } = policy;
  const pinned = upstream.resolve.length;
  const seal = readSeal();
  return [
    control(
      'path',
      true,
      Object.values(stages)
        .map(({ name }) => name)
        .join(' -> '),
    ),
    control('doors', doors.length + namespaces > 0, describeDoors(doors, namespaces)),
    ...(workers === null ? [] : [control('workers', workers.live, workers.detail)]),
    control('identity', true, `${registry.size} registered; unknown callers are refused`),
    control('docker', docker.live, docker.detail),
    control('allowlist', rejected === null, allowDetail(policy)),
    control('api-block', blocked > 0, `${blocked} blocked API patterns`),
    control('pushes', true, pushDetail(policy)),
    control('github', true, githubDetail(policy)),
    control('approvals', true, approvalDetail(policy, people)),
    ...(page === null ? [] : [control('dashboard', true, `${page}, for who has its address`)]),
    control('credentials', true, `${policy.credentials.size} known by name; each only to its own hosts and paths`),
    control('scrub', policy.secrets.scrub && scrubWorks(), scrubDetail(policy)),
    control('outbound', outbound, outboundDetail(policy)),
    control('memory', seal.live, seal.detail),
    control('addresses', upstream.proxy?.byName !== true, addressDetail(pinned, upstream.proxy)),
    control('tls', true, `leaves by ${ca.subject}; upstream certificates always verified`),
    control('limits', true, limitDetail(limits)),
    control('budgets', true, budgetDetail(policy.budgets)),
    control('store', store.away === null, storeDetail(store)),
    control(
      'journal',
      journal.healthy,
      journal.healthy ? `record ${journal.head.seq}, hash-chained` : `nothing is served: ${journal.trouble}`,
    ),
  ];
}

function describeDoors(doors: readonly string[], namespaces: number): string {
  const inside = namespaces === 0 ? [] : [`${namespaces} in the namespaces of sandboxes`];
  return [...doors, ...inside].join(', ') || 'none open';
}

function allowDetail({ allow, origin }: CompiledPolicy): string {
  const asking = allow.filter(({ ask }) => ask).length;
  const asks = asking === 0 ? '' : `${asking} of them ask a person first; `;
  return `${allow.length} rules from ${origin}; ${asks}everything else is refused`;
}

function pushDetail(policy: CompiledPolicy): string {
  const list = (globs: readonly { readonly text: string }[]): string =>
    globs.map(({ text }) => text).join(', ') || 'none';
  return [
    `judged on ${[...policy.githubHosts, ...policy.gitHosts].join(', ')}`,
    `protected branches ${list(policy.protectedBranches)}`,
    `protected paths ${list(policy.protectedPaths)}`,
    `force pushes ${policy.allowForcePush ? 'allowed' : 'refused'}`,
    `branch deletions ${policy.allowBranchDeletion ? 'allowed' : 'refused'}`,
  ].join('; ');
}

function githubDetail({ githubEffects, githubAsks }: CompiledPolicy): string {
  const modes = (['bot', 'user'] as const).map((mode) => {
    const effects = [...githubEffects[mode]].map((effect) =>
      githubAsks[mode].has(effect) ? `${effect} (asks)` : effect,
    );
    return `${mode}: ${effects.join(' ')}`;
  });
  return `calls judged by effect; ${modes.join('; ')}; everything else is refused`;
}

function approvalDetail({ allow, githubAsks }: CompiledPolicy, people: ControlSources['people']): string {
  const entries = new Set(allow.flatMap(({ ask, name }) => (ask ? [name] : [])));
  const effects = new Set([...githubAsks.bot, ...githubAsks.user]);
  const who = people.watchers === 0 ? 'nobody watches' : `${people.watchers} watching`;
  if (entries.size + effects.size === 0) return `no rule asks; ${who}`;
  const asks = [...entries, ...effects].join(', ');
  return `asked about: ${asks}; ${who}, ${people.waiting} waiting; silence is a no`;
}

function scrubDetail({ secrets }: CompiledPolicy): string {
  return secrets.scrub
    ? 'every answer is searched for every known credential, in any of its forms'
    : 'secrets.scrub is off: answers are passed on unsearched';
}

function outboundDetail({ secrets }: CompiledPolicy): string {
  const act = secrets.misplaced === 'revoke' ? 'refused, and the sandbox unregistered' : 'refused';
  return `placeholders for another host and real values are ${act}; bodies are searched up to ${secrets.searchedBodyBytes} bytes`;
}

function limitDetail({ requestsPerMinute, concurrentRequests, credential, gateway }: Limits): string {
  const others = [
    ...(credential.requestsPerMinute > 0 ? [`${credential.requestsPerMinute} a minute per credential`] : []),
    ...(gateway.requestsPerMinute > 0 ? [`${gateway.requestsPerMinute} a minute in all`] : []),
  ];
  return [`${requestsPerMinute} requests a minute, ${concurrentRequests} at once per sandbox`, ...others].join('; ');
}

function budgetDetail({ period, sandbox, credential, gateway }: Budgets): string {
  const scopes = Object.entries({ sandbox, credential, gateway }).flatMap(([name, { tokens, microDollars }]) => [
    ...(tokens > 0 ? [`${tokens} tokens per ${name}`] : []),
    ...(microDollars > 0 ? [`$${microDollars / 1_000_000} per ${name}`] : []),
  ]);
  return scopes.length === 0 ? 'none set; what models cost is counted' : `per ${period}: ${scopes.join(', ')}`;
}

function storeDetail({ name, away }: ControlSources['store']): string {
  return away === null ? name : `${name} is away: ${away.reason}`;
}

function addressDetail(pinned: number, proxy: CompiledPolicy['upstream']['proxy']): string {
  if (proxy?.byName) return `names are resolved by the upstream proxy ${proxy.host}:${proxy.port}: not judged here`;
  const by = proxy === null ? '' : `, through the proxy ${proxy.host}:${proxy.port}`;
  return `public addresses only${pinned > 0 ? `, and ${pinned} pinned by upstream.resolve` : ''}${by}`;
}

function control(name: string, live: boolean, detail: string): LiveControl {
  return { name, live, detail };
}
