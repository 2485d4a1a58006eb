// A compiled policy from a few words, with the real patterns in it, for tests of decisions alone.

import { compileGlob } from '../../src/kit/text/glob.ts';
import { defaultEffects, type GithubEffect } from '../../src/path/github-effects.ts';
import { parseBlockedApiPattern } from '../../src/policy/blocked-api.ts';
import { tokenEndpointsOf } from '../../src/policy/compile.ts';
import type { AllowRule, CompiledPolicy, CredentialSpec, HostPattern } from '../../src/policy/compiled.ts';
import { parseHostPattern } from '../../src/policy/host-pattern.ts';
import { noBudgets, usualLimits } from './hand-made-limits.ts';

export interface HandMadeRule {
  readonly host: string;
  readonly methods?: readonly string[];
  readonly paths?: readonly string[];
  readonly ports?: readonly number[];
  readonly plainHttp?: boolean;
  readonly tunnel?: boolean;
  readonly conversation?: boolean;
  readonly ask?: boolean;
}

export interface HandMadeCredential {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly paths?: readonly string[];
}

export interface HandMadePolicy {
  readonly allow?: readonly HandMadeRule[];
  readonly tcp?: readonly { readonly host: string; readonly ports: readonly number[] }[];
  readonly hostPorts?: CompiledPolicy['run']['hostPorts'];
  readonly credentials?: readonly HandMadeCredential[];
  readonly blocked?: Readonly<Record<string, readonly string[]>>;
  readonly githubHosts?: readonly string[];
  readonly effects?: readonly GithubEffect[];
  readonly asks?: readonly GithubEffect[];
  readonly gitHosts?: readonly string[];
  readonly publicFetch?: boolean;
  readonly protectedPaths?: readonly string[];
  readonly allowForcePush?: boolean;
  readonly allowBranchDeletion?: boolean;
}

export function handMadePolicy(made: HandMadePolicy): CompiledPolicy {
  const allow = (made.allow ?? []).map(allowRule);
  const credentials = (made.credentials ?? []).map(credentialSpec);
  const tcp = (made.tcp ?? []).map(({ host, ports }, i) => ({
    name: `tcp[${i}]`,
    line: i,
    host: hostPattern(host),
    ports,
  }));
  return {
    origin: 'hand-made',
    listen: { proxy: [], mtls: [], gateway: [], dashboard: null, workers: 1 },
    dns: { unknown: 'answer' },
    docker: { socket: '/var/run/docker.sock', registerLabelled: false, network: null },
    effectsAt: () => [],
    rulesFor: (host) => {
      const covering = allow.filter((rule) => rule.host.covers(host));
      return [
        ...covering.filter((rule) => rule.host.text === host),
        ...covering.filter((rule) => rule.host.text !== host),
      ];
    },
    allow,
    tcp,
    tcpFor: (host) => tcp.filter((rule) => rule.host.covers(host)),
    run: { hostPorts: made.hostPorts ?? [] },
    credentials: new Map(credentials.map((spec) => [spec.name, spec])),
    credentialsFor: (host) =>
      credentials.filter((spec) =>
        spec.placements.some((placement) => placement.hosts.some((one) => one.covers(host))),
      ),
    tokenEndpoints: tokenEndpointsOf(credentials),
    blockedApiPatterns: new Map(
      Object.entries(made.blocked ?? {}).map(([method, texts]) => [
        method,
        texts.map((text, i) => orThrow(parseBlockedApiPattern(text, `policy.blocked_api_patterns.${method}[${i}]`))),
      ]),
    ),
    protectedBranches: ['main', 'master'].map(compileGlob),
    protectedPaths: (made.protectedPaths ?? []).map(compileGlob),
    allowForcePush: made.allowForcePush ?? false,
    allowBranchDeletion: made.allowBranchDeletion ?? false,
    githubHosts: ['github.com', ...(made.githubHosts ?? [])],
    githubEffects: {
      bot: new Set(made.effects ?? defaultEffects),
      user: new Set(made.effects ?? defaultEffects),
    },
    githubAsks: { bot: new Set(made.asks ?? []), user: new Set(made.asks ?? []) },
    approvals: { answerWithinMs: 60_000, held: 500, heldPerSandbox: 100 },
    gitHosts: new Set(made.gitHosts ?? []),
    publicFetch: made.publicFetch ?? false,
    secrets: {
      scrub: true,
      misplaced: 'refuse',
      conversations: 'record',
      searchedBodyBytes: 16 * 1024 ** 2,
      injectedBodyBytes: 1024 ** 2,
    },
    limits: usualLimits,
    budgets: noBudgets,
    store: null,
    upstream: { resolve: [], extraRoots: [], proxy: null },
    audit: { maxFileBytes: 1, keepFiles: 1, keepMs: 0, maxBytes: 1, sandboxBytesPerDay: 0 },
    warnings: [],
  };
}

/** GitHub as the preset allows it: every host, with the credential on the API and on git. */
export const githubPolicy = handMadePolicy({
  allow: [
    { host: 'github.com' },
    { host: '*.github.com' },
    { host: '*.githubusercontent.com' },
    { host: 'ghe.example.com' },
  ],
  credentials: [
    { name: 'github', hosts: ['github.com', '*.github.com', '*.githubusercontent.com', 'ghe.example.com'] },
  ],
  blocked: {
    PUT: ['^/repos/[^/]+/[^/]+/pulls/\\d+/merge$'],
    POST: ['^/repos/[^/]+/[^/]+/releases$'],
    DELETE: ['^/repos/[^/]+/[^/]+$'],
  },
  githubHosts: ['ghe.example.com'],
});

function allowRule(made: HandMadeRule, index: number): AllowRule {
  return {
    name: `allow[${index}]`,
    line: index + 1,
    host: hostPattern(made.host),
    methods: made.methods === undefined ? null : new Set(made.methods),
    paths: made.paths === undefined ? null : made.paths.map(compileGlob),
    ports: made.ports ?? (made.plainHttp ? [443, 80] : [443]),
    plainHttp: made.plainHttp ?? false,
    tunnel: made.tunnel ?? false,
    conversation: made.conversation ?? false,
    ask: made.ask ?? false,
  };
}

function credentialSpec(made: HandMadeCredential): CredentialSpec {
  return {
    name: made.name,
    line: null,
    placements: [
      {
        hosts: made.hosts.map(hostPattern),
        paths: made.paths === undefined ? null : made.paths.map(compileGlob),
        injection: { kind: 'header', header: 'authorization', prefix: 'Bearer ' },
      },
    ],
    stripHeaders: ['authorization'],
    stripQuery: [],
    companionDefaults: [],
    companionForced: [],
    anonymous: false,
    login: null,
    source: { kind: 'memory' },
  };
}

function hostPattern(text: string): HostPattern {
  return orThrow(parseHostPattern(text));
}

function orThrow<T>(parsed: { readonly value: T } | { readonly problem: string }): T {
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value;
}
