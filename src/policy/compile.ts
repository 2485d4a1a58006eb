// From a document to the compiled policy the stages read. Goes through every section, whatever is wrong in another,
// so that a person sees all errors at once. Never decides about a request; never reads a secret.
import * as z from 'zod';
import { compileGlob, type Glob } from '../kit/text/glob.ts';
import { defaultEffects, type GithubEffect } from '../path/github-effects.ts';
import { permissionsFor } from './app-permissions.ts';
import {
  checkAsks,
  checkPlainConnections,
  checkTunnels,
  warnAboutBlockedAsks,
  warnAboutUnreachable,
} from './check-rules.ts';
import { compileAllow } from './compile-allow.ts';
import { compileCredentials } from './compile-credentials.ts';
import { compileBudgets, compileLimits, compileStore, hasBudget } from './compile-limits.ts';
import { compileUpstream } from './compile-upstream.ts';
import type {
  AllowRule,
  BlockedApiPattern,
  CompiledPolicy,
  CredentialSpec,
  FoundEndpoint,
  TcpRule,
  TokenEndpoints,
} from './compiled.ts';
import { effectsByHost, placeAllowedEffects } from './effect-places.ts';
import { HostIndex } from './host-index.ts';
import type { MachineFiles } from './load/machine-files.ts';
import type { PackageFamily, PackageHosts } from './load/package-hosts.ts';
import { findRegistryLogins } from './registries/find-registry-logins.ts';
import type { YamlDocument } from './schema/document.ts';
import { Findings } from './schema/findings.ts';
import type { PolicyResult } from './schema/policy-error.ts';
import type { PresetCatalog } from './schema/presets.ts';
import { runSection } from './schema/run-schema.ts';
import { strictKeys } from './schema/schema.ts';
import {
  approvalsSection,
  auditSection,
  defaultProxyDoors,
  dnsSection,
  dockerSection,
  githubSection,
  gitSection,
  listenSection,
  policySection,
  secretsSection,
} from './schema/settings-schema.ts';

export interface CompileInput {
  readonly document: YamlDocument;
  readonly origin: string;
  /** Relative file names in the document start here. */
  readonly directory: string;
  readonly machine: MachineFiles;
  readonly catalog: PresetCatalog;
  readonly packages: ReadonlyMap<PackageFamily, PackageHosts>;
}

const section = z.unknown().optional();
const sections = strictKeys({
  version: z.literal(1, { error: 'write `version: 1`' }),
  listen: section,
  allow: section,
  approvals: section,
  credentials: section,
  policy: section,
  github: section,
  git: section,
  dns: section,
  docker: section,
  limits: section,
  budgets: section,
  store: section,
  secrets: section,
  upstream: section,
  audit: section,
  run: section,
});

export function compilePolicy(input: CompileInput): PolicyResult {
  const findings = new Findings(input.document);
  findings.check(sections, input.document.value, []);
  const document = asMap(input.document.value);
  const allow = compileAllow(document.allow, findings, input.catalog, input.packages);
  const github = findings.check(githubSection, document.github ?? {}, ['github']);
  const effects = { bot: effectsOf(github?.effects.bot), user: effectsOf(github?.effects.user) };
  const asks = { bot: asksOf(github?.effects.bot), user: asksOf(github?.effects.user) };
  const usable = permissionsFor([...effects.bot, ...effects.user]);
  const named = compileCredentials(document.credentials, allow.presets, findings, input.catalog, usable, input.machine);
  const own = placeAllowedEffects(named, allow.rules, input.catalog);
  const listen = compileListen(document.listen, findings);
  const policy = compilePolicySection(document.policy, findings);
  const approvals = findings.check(approvalsSection, document.approvals ?? {}, ['approvals']);
  const git = findings.check(gitSection, document.git ?? {}, ['git']);
  const dns = findings.check(dnsSection, document.dns ?? {}, ['dns']);
  const docker = findings.check(dockerSection, document.docker ?? {}, ['docker']);
  const limits = compileLimits(document.limits, findings);
  const budgets = compileBudgets(document.budgets, findings);
  const store = compileStore(document.store, input.directory, input.machine, findings);
  const secrets = findings.check(secretsSection, document.secrets ?? {}, ['secrets']);
  const registries = findRegistryLogins(secrets?.registry_logins === false ? null : input.machine, allow.rules, own);
  const credentials = new Map([...own, ...registries.credentials.map((spec) => [spec.name, spec] as const)]);
  const audit = findings.check(auditSection, document.audit ?? {}, ['audit']);
  // All but `host_ports` is for whoever starts a sandbox (load/saved-choices.ts): here it is only right or wrong.
  const run = findings.check(runSection, document.run ?? {}, ['run']);
  const upstream = compileUpstream(document.upstream, input.directory, input.machine, findings);

  const rules = new HostIndex<AllowRule>();
  for (const rule of allow.rules) rules.add(rule.host, rule);
  const plain = new HostIndex<TcpRule>();
  for (const rule of allow.tcp) plain.add(rule.host, rule);
  const placed = new HostIndex<CredentialSpec>();
  for (const spec of credentials.values()) {
    for (const host of spec.placements.flatMap((placement) => placement.hosts)) placed.add(host, spec);
  }
  checkTunnels(allow.rules, findings);
  checkAsks(allow.rules, findings);
  const ofGit = ['github.com', ...(github?.hosts ?? []), ...(git?.hosts ?? []), ...allow.gitHosts];
  checkPlainConnections(allow.tcp, allow.rules, ofGit, findings);
  if (policy) warnAboutBlockedAsks(asks, policy.blockedApiPatterns, findings);
  if (secrets?.scrub === false) {
    findings.warn('secrets.scrub is off: a credential that an upstream sends back reaches the sandbox');
  }
  if (budgets !== null && hasBudget(budgets) && !allow.rules.some(({ conversation }) => conversation)) {
    findings.warn(
      'budgets are set, but no entry of `allow` is a host of models (`conversation: true`): they limit nothing',
    );
  }
  if (audit) warnAboutShares(audit, findings);
  warnAboutUnreachable(credentials, allow.rules, { github: github?.hosts ?? [], git: git?.hosts ?? [] }, findings);

  if (
    findings.errors.length > 0 ||
    !policy ||
    !github ||
    !git ||
    !approvals ||
    !dns ||
    !run ||
    !docker ||
    !limits ||
    !budgets ||
    !secrets ||
    !audit
  ) {
    const errors = findings.errors.sort((a, b) => a.line - b.line || a.column - b.column);
    return { ok: false, errors };
  }
  const compiled: CompiledPolicy = {
    origin: input.origin,
    listen,
    rulesFor: (host) => rules.find(host),
    allow: allow.rules,
    tcp: allow.tcp,
    tcpFor: (host) => plain.find(host),
    run: { hostPorts: run.host_ports },
    effectsAt: effectsByHost(input.catalog.effects),
    credentials,
    registryFiles: registries.files,
    credentialsFor: (host) => placed.find(host),
    tokenEndpoints: tokenEndpointsOf(credentials.values()),
    ...policy,
    githubHosts: [...new Set(['github.com', ...github.hosts])],
    githubEffects: effects,
    githubAsks: asks,
    gitHosts: new Set([...allow.gitHosts, ...git.hosts]),
    publicFetch: git.public_fetch,
    dns,
    docker: { socket: docker.socket, registerLabelled: docker.register_labelled, network: docker.network ?? null },
    limits,
    approvals: {
      answerWithinMs: approvals.answer_within_seconds * 1000,
      held: approvals.held,
      heldPerSandbox: approvals.held_per_sandbox,
    },
    budgets,
    store,
    secrets: {
      scrub: secrets.scrub,
      misplaced: secrets.misplaced,
      conversations: secrets.conversations,
      searchedBodyBytes: secrets.searched_body_bytes,
      injectedBodyBytes: secrets.injected_body_bytes,
    },
    upstream,
    audit: {
      maxFileBytes: audit.max_file_bytes,
      keepFiles: audit.keep_files,
      keepMs: audit.keep_days * 86_400_000,
      maxBytes: audit.max_bytes,
      sandboxBytesPerDay: audit.sandbox_bytes_per_day,
    },
    warnings: findings.warnings,
  };
  return { ok: true, policy: compiled };
}

function compileListen(value: unknown, findings: Findings): CompiledPolicy['listen'] {
  const checked = findings.check(listenSection, value ?? {}, ['listen']);
  return {
    proxy: checked?.proxy ?? defaultProxyDoors,
    mtls: checked?.mtls ?? [],
    gateway: checked?.gateway ?? [],
    dashboard: checked?.dashboard ?? null,
    workers: checked?.workers ?? 1,
  };
}

type PolicySection = Pick<
  CompiledPolicy,
  'blockedApiPatterns' | 'protectedBranches' | 'protectedPaths' | 'allowForcePush' | 'allowBranchDeletion'
>;

function compilePolicySection(value: unknown, findings: Findings): PolicySection | null {
  const checked = findings.check(policySection, value ?? {}, ['policy']);
  if (!checked) return null;
  const blockedApiPatterns = new Map<string, BlockedApiPattern[]>();
  for (const [method, patterns] of Object.entries(checked.blocked_api_patterns)) {
    const named = patterns.map((p, i) => ({ ...p, rule: `policy.blocked_api_patterns.${method}[${i}]` }));
    blockedApiPatterns.set(method, named);
  }
  return {
    blockedApiPatterns,
    // In lower case: a server on a disk that does not tell cases apart would take `Main` for `main`.
    protectedBranches: checked.protected_branches.map((text) =>
      compileGlob(text.replace(/^refs\/heads\//, '').toLowerCase()),
    ),
    protectedPaths: checked.protected_paths.map(protectedPath),
    allowForcePush: checked.allow_force_push,
    allowBranchDeletion: checked.allow_branch_deletion,
  };
}

// A pattern that begins with **/ also means the top, and a directory means what is in it.
function protectedPath(text: string): Glob {
  const plain = text.replace(/^\//, '').toLowerCase();
  const texts = [plain];
  if (plain.startsWith('**/')) texts.push(plain.slice(3));
  for (const one of [...texts]) if (!one.endsWith('*')) texts.push(one.endsWith('/') ? `${one}**` : `${one}/**`);
  const globs = texts.map(compileGlob);
  return {
    text: plain,
    covers: (name) => globs.some((glob) => glob.covers(name)),
    reaches: (beginning) => globs.some((glob) => glob.reaches(beginning)),
  };
}

type EffectChange = Readonly<Record<'allow' | 'ask' | 'block', readonly GithubEffect[]>>;

/** What is asked about is allowed when a person says so. Blocked wins over allowed. */
function effectsOf(change: EffectChange = { allow: [], ask: [], block: [] }): Set<GithubEffect> {
  const effects = new Set([...defaultEffects, ...change.allow, ...change.ask]);
  for (const effect of change.block) effects.delete(effect);
  return effects;
}

/** Asking wins over allowing. */
function asksOf(change: EffectChange = { allow: [], ask: [], block: [] }): Set<GithubEffect> {
  return new Set(change.ask.filter((effect) => !change.block.includes(effect)));
}

function asMap(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** With refusals, an eighth beside it, and all of a day at once: who can hold half of the journal takes room from others. */
function warnAboutShares(audit: z.infer<typeof auditSection>, findings: Findings): void {
  const { sandbox_bytes_per_day: share, keep_days: days, max_bytes: most } = audit;
  if (days === 0 || (share > 0 && share * (9 / 8) * (days + 1) <= most / 2)) return;
  const what = share === 0 ? 'without limit' : `${share} bytes a day`;
  findings.warn(
    `audit: one sandbox may write ${what}, and no file is removed for ${days} days, so its records can fill more than half of audit.max_bytes. When that is full, nothing is served. Lower audit.sandbox_bytes_per_day or audit.keep_days, or raise audit.max_bytes`,
  );
}

// What a token endpoint of a login is, and what else of its host belongs to it. The endpoint itself is answered by the gateway;
// what stands beside it is not forwarded. Works on names and paths alone.
export function tokenEndpointsOf(credentials: Iterable<CredentialSpec>): TokenEndpoints {
  const byHost = new Map<string, FoundEndpoint[]>();
  for (const spec of credentials) {
    for (const endpoint of spec.login?.tokenEndpoints ?? []) {
      byHost.set(endpoint.host, [...(byHost.get(endpoint.host) ?? []), { spec, endpoint }]);
    }
  }
  return {
    on: (host) => byHost.get(host) ?? [],
    // Asked of every request, and nearly all hosts have none.
    at(host, path) {
      const known = byHost.get(host);
      if (known === undefined) return undefined;
      const asked = spelt(path);
      return known.find(({ endpoint }) => spelt(endpoint.path) === asked);
    },
    beside(host, path) {
      const known = byHost.get(host);
      if (known === undefined) return undefined;
      const asked = spelt(path);
      return known.find(({ endpoint }) => standsBeside(asked, spelt(endpoint.path)));
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
