// The policy as it holds for one sandbox, in sentences: for a person who asks, for the page inside the sandbox and for the
// dashboard. A sandbox is told what it may do and never what is the operator's alone: files, sources, addresses.

import { hostPortText } from '../../kit/text/host-port.ts';
import { type GithubEffect, githubEffects } from '../../path/github-effects.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { CompiledPolicy, CredentialSpec, SourceSpec } from '../compiled.ts';
import { explainHosts, explainPlaces, names } from './explain-hosts.ts';
import { explainBudgets, explainGateway, explainLimits } from './explain-limits.ts';

/** One part of the explanation of a policy. */
export interface PolicySection {
  readonly title: string;
  readonly sentences: readonly string[];
}

/** What of a registration a policy is read with. */
export type ExplainedSandbox = Pick<Sandbox, 'repos' | 'authMode' | 'allowedBranches' | 'credentials'> &
  Partial<Pick<Sandbox, 'hostPorts' | 'namespacePid' | 'containerId'>>;

export interface ExplainOptions {
  readonly audience: 'sandbox' | 'operator';
  /** Whether the value of a credential is at hand; left out: nobody knows, and nothing is said of it. */
  readonly isSet?: (credential: string) => boolean;
  /** Every name of a long list, in place of the first few. */
  readonly full?: boolean;
}

export function explainPolicy(
  policy: CompiledPolicy,
  sandbox: ExplainedSandbox,
  options: ExplainOptions,
): PolicySection[] {
  const isOperator = options.audience === 'operator';
  const full = options.full ?? false;
  const sections: PolicySection[] = [
    { title: 'Hosts', sentences: hosts(policy, isOperator, full) },
    { title: 'Plain connections', sentences: plainConnections(policy, sandbox, isOperator) },
    { title: 'Credentials', sentences: explainCredentials(policy, sandbox, { ...options, full }) },
    { title: 'Repositories', sentences: repositories(policy, sandbox) },
    { title: "GitHub's API", sentences: githubApi(policy, sandbox, full || !isOperator) },
    { title: 'People', sentences: people(policy, sandbox, isOperator) },
    { title: 'Limits', sentences: explainLimits(policy.limits, isOperator) },
    { title: 'Budgets', sentences: explainBudgets(policy.budgets, isOperator) },
    { title: 'Secrets', sentences: secrets(policy) },
    { title: 'Always refused', sentences: [...blockedPaths(policy), ...alwaysRefused] },
  ];
  if (isOperator) sections.push({ title: 'Gateway', sentences: explainGateway(policy) });
  return sections.filter(({ sentences }) => sentences.length > 0);
}

function hosts(policy: CompiledPolicy, isOperator: boolean, full: boolean): string[] {
  const sentences = explainHosts(policy, { full, places: isOperator });
  if (sentences.length === 0 && policy.tcp.length > 0) return [];
  if (sentences.length === 0) return ['No host may be reached: `allow` names none.'];
  const rest = policy.allow.some(({ host }) => host.text === '*')
    ? 'Where several entries cover a request, the first decides: full names before wildcards, wildcards before the rest.'
    : 'Every other host is refused, and its name does not resolve.';
  const judged = reachesGit(policy)
    ? ['On hosts of git, GitHub among them, each call is judged by its repository and by what it would do as well.']
    : [];
  return [...sentences, ...judged, rest];
}

/** What passes without being read. */
function plainConnections({ tcp, run }: CompiledPolicy, sandbox: ExplainedSandbox, isOperator: boolean): string[] {
  const places = (name: string, line: number | null): string =>
    isOperator ? ` (${name}${line === null ? '' : `, line ${line}`})` : '';
  const hostsByTcp = tcp.map(({ name, line, host, ports }) => {
    const on = `port${ports.length === 1 ? '' : 's'} ${ports.join(', ')}`;
    return `${host.text}: plain TCP on ${on}, passed on unread and without a credential${places(name, line)}.`;
  });
  const isOfRun = sandbox.namespacePid != null && sandbox.containerId == null;
  const ports = [...(sandbox.hostPorts ?? []), ...(isOfRun || sandbox.namespacePid === undefined ? run.hostPorts : [])];
  const ofHost = ports.map(
    ({ port, inside }) =>
      `127.0.0.1:${inside} and [::1]:${inside} in the sandbox are port ${port} of the host's loopback.`,
  );
  return [...hostsByTcp, ...new Set(ofHost)];
}

const textsOf = (list: readonly { readonly text: string }[]): string =>
  names(
    list.map(({ text }) => text),
    true,
  );

function repositories(policy: CompiledPolicy, { repos, authMode, allowedBranches }: ExplainedSandbox): string[] {
  if (!reachesGit(policy)) return [];
  const others = policy.publicFetch
    ? 'Other public repositories may be fetched, without a credential.'
    : 'Every other repository is refused, by git and by API, even to read.';
  if (repos.length === 0)
    return ['No repository may be used by git or through an API.', ...(policy.publicFetch ? [others] : [])];
  const branches =
    authMode === 'user'
      ? 'It works in the name of a person (mode user): it may push new tags and every branch that is not protected.'
      : `It works as a bot: it may push only to ${branchesIn(allowedBranches)}.`;
  const sentences = [`The sandbox may fetch from, and push to, ${names(repos, true)}.`, others, branches];
  if (policy.protectedBranches.length > 0) {
    sentences.push(`Nobody pushes to the protected branches ${textsOf(policy.protectedBranches)}.`);
  }
  sentences.push(
    policy.allowForcePush
      ? 'A push may rewrite a branch (force).'
      : 'A push that rewrites a branch (force) is refused; its history decides, not its flags.',
  );
  sentences.push(
    policy.allowBranchDeletion
      ? 'A branch that is not protected may be deleted; a tag is never moved or deleted.'
      : 'No branch is deleted; no tag is moved or deleted.',
  );
  if (policy.protectedPaths.length > 0) {
    sentences.push(`No commit of a push may change ${textsOf(policy.protectedPaths)}.`);
  }
  return sentences;
}

/** Also by a wildcard. In a tunnel nothing is judged. */
function reachesGit({ githubHosts, gitHosts, rulesFor }: CompiledPolicy): boolean {
  return [...githubHosts, ...gitHosts].some((host) => rulesFor(host).some(({ tunnel }) => !tunnel));
}

function branchesIn(patterns: readonly string[]): string {
  return patterns.length === 0 ? 'no branch at all' : names(patterns, true);
}

/** `inWords`: what is refused in words as well, and not by name alone. */
function githubApi(policy: CompiledPolicy, { authMode }: ExplainedSandbox, inWords: boolean): string[] {
  const reached = policy.githubHosts.some(
    (host) => policy.rulesFor(host === 'github.com' ? 'api.github.com' : host).length > 0,
  );
  if (!reached) return [];
  const asked = policy.githubAsks[authMode];
  const all = Object.keys(githubEffects) as GithubEffect[];
  const effects = policy.githubEffects[authMode];
  const described = (verdict: string, some: readonly GithubEffect[]): string[] =>
    some.map((effect) => `${verdict}: ${effect} (${githubEffects[effect]}).`);
  const allowed = all.filter((effect) => effects.has(effect) && !asked.has(effect));
  const refused = all.filter((effect) => !effects.has(effect));
  const sentences = [
    'A call is judged by what it would do (its effect), in REST and GraphQL alike, and by the repository it is about.',
    ...described('Allowed', allowed),
    ...described(
      'After a person has agreed',
      all.filter((effect) => asked.has(effect)),
    ),
  ];
  if (inWords) sentences.push(...described('Refused', refused));
  else if (refused.length > 0) sentences.push(`Refused: ${names(refused, true)}.`);
  return sentences;
}

function people(policy: CompiledPolicy, { authMode }: ExplainedSandbox, isOperator: boolean): string[] {
  const asks = policy.allow.some(({ ask }) => ask) || policy.githubAsks[authMode].size > 0;
  const seconds = policy.approvals.answerWithinMs / 1000;
  const sentences = asks
    ? [
        `What needs a person waits at the door for up to ${seconds} seconds; nothing is sent before the answer.`,
        'No answer in that time, or nobody watching, is a no.',
      ]
    : ['Nothing in this policy asks a person.'];
  if (isOperator && !asks) return sentences;
  sentences.push(
    isOperator
      ? `At most ${policy.approvals.held} requests wait at once, ${policy.approvals.heldPerSandbox} of one sandbox.`
      : 'To ask a person for more: POST http://sallyport.internal/requests. What was refused, and why: GET http://sallyport.internal/why.',
  );
  return sentences;
}

function secrets({ secrets: { scrub, misplaced, conversations } }: CompiledPolicy): string[] {
  const where =
    misplaced === 'refuse' ? 'refused and recorded' : 'refused and recorded, and the sandbox is unregistered';
  return [
    'No credential is in the sandbox. It holds placeholders, which only this door understands.',
    scrub
      ? 'Answers are searched for credentials, which are masked.'
      : 'Answers are not searched for credentials (secrets.scrub is off).',
    `A request that carries a credential, or a placeholder where it does not belong, is ${where}.`,
    conversations === 'record'
      ? 'A placeholder in a conversation with a model passes, and is recorded.'
      : 'A placeholder in a conversation with a model is refused as well.',
  ];
}

function blockedPaths({ blockedApiPatterns }: CompiledPolicy): string[] {
  return [...blockedApiPatterns].flatMap(([method, patterns]) =>
    patterns.map(({ text }) => `${method} on any host, whatever else allows it, where the path matches ${text}`),
  );
}

const alwaysRefused: readonly string[] = [
  'Addresses in place of names, and names that lead to a private, local or cloud-internal address.',
  'Plain http, and ports other than 443, where no entry says otherwise.',
  'A request whose CONNECT, TLS name (SNI) and Host do not agree, or whose TLS hides its name (ECH).',
  'DNS over HTTPS, and DNS records other than addresses.',
  'A request that can be read in two ways, and a call to GitHub or git that cannot be judged.',
  'Git over ssh or any other protocol: there is no way out but this door.',
];

// Which credentials a sandbox may use and where each goes, in sentences. Names and places, never a value; where a value comes
// from is said to the operator alone.
function explainCredentials(
  { credentials }: CompiledPolicy,
  sandbox: ExplainedSandbox,
  options: ExplainOptions & { readonly full: boolean },
): string[] {
  // The key of a certificate is said with the credential that shows it.
  const all = [...credentials.values()].filter(({ placements }) => placements.length > 0);
  const isIts = ({ name }: CredentialSpec): boolean => sandbox.credentials?.includes(name) ?? true;
  const its = all.filter(isIts);
  if (its.length === 0) return ['The sandbox may use no credential: its requests go out without one.'];
  const sentences = its.map(
    (spec) => `${spec.name} goes ${explainPlaces(spec, options.full)}.${standIn(spec)}${stateOf(spec, options)}`,
  );
  const others = all.filter((spec) => !isIts(spec)).map(({ name }) => name);
  if (options.audience === 'operator' && others.length > 0) {
    sentences.push(`Not for this sandbox: ${names(others, true)}.`);
  }
  sentences.push('A credential goes nowhere else. Whatever the sandbox sends in its place is removed first.');
  return sentences;
}

/** Where the sandbox finds what stands for it, and what goes with it. */
function standIn({ placeholder, clientCertificate, placements }: CredentialSpec): string {
  const isMore =
    clientCertificate !== undefined && placements.some(({ injection }) => injection.kind !== 'certificate');
  const shown = isMore ? ' The gateway shows a client certificate with it.' : '';
  if (placeholder === undefined) return shown;
  const file = placeholder.file === null ? [] : [`~/${placeholder.file.path}`];
  return `${shown} The sandbox finds a placeholder for it in ${names([...placeholder.variables, ...file], true)}.`;
}

function stateOf(spec: CredentialSpec, { isSet, audience }: ExplainOptions): string {
  const from = audience === 'operator' ? ` ${originOf(spec)}` : '';
  const without = spec.anonymous ? 'requests go without it' : 'requests that need it are refused';
  if (isSet === undefined) return `${from} Without a value, ${without}.`;
  return isSet(spec.name) ? `${from} It is set.` : `${from} It is not set, so ${without}.`;
}

function originOf({ name, source }: CredentialSpec): string {
  if (source.kind === 'memory') return `Its value is given by \`sallyport secret set ${name}\`.`;
  return `Its value comes from ${sourceInWords(source)}.`;
}

// The policy in a few sentences, for `sallyport up` to print. Names hosts, presets and credentials; never a value.
/** `isSet` answers whether the value of a credential is at hand. */
export function describePolicy(policy: CompiledPolicy, isSet: (credential: string) => boolean): string[] {
  const hosts = new Set(policy.allow.map((rule) => rule.host.text));
  const tunnels = new Set(policy.allow.filter((rule) => rule.tunnel).map((rule) => rule.host.text));
  const presets = new Set(policy.allow.flatMap((rule) => /\(preset (.+)\)$/.exec(rule.name)?.[1] ?? []));
  const lines = [`policy: ${policy.origin}`];
  const fromPresets = presets.size === 0 ? '' : `, presets ${[...presets].join(', ')}`;
  const undecrypted = tunnels.size === 0 ? '' : `, ${tunnels.size} of them as tunnels`;
  lines.push(`allowed: ${hosts.size} ${hosts.size === 1 ? 'host' : 'hosts'}${undecrypted}${fromPresets}`);
  if (policy.tcp.length > 0) {
    const plain = policy.tcp.flatMap(({ host, ports }) => ports.map((port) => `${host.text}:${port}`));
    lines.push(`plain TCP, unread and without a credential: ${names(plain, false)}`);
  }
  if (policy.run.hostPorts.length > 0) {
    const ports = policy.run.hostPorts.map(hostPortText);
    lines.push(`ports of this host in every sandbox of run: ${names(ports, false)}`);
  }
  for (const spec of policy.credentials.values()) lines.push(describeCredential(spec, isSet(spec.name)));
  return lines;
}

/** What kind of place a value comes from. */
function sourceInWords({ kind }: SourceSpec): string {
  const from = {
    file: 'a file',
    command: 'a command',
    environment: 'the environment',
    memory: 'memory',
    'github-app': 'a GitHub App',
    age: 'an encrypted file',
    keyring: 'the keyring',
    login: 'the login of an agent',
    oauth: 'OAuth',
    'google-service-account': 'a service account',
    'aws-profile': 'an AWS profile',
    registry: 'your own login for it',
  };
  return from[kind];
}

function describeCredential(spec: CredentialSpec, set: boolean): string {
  const from = sourceInWords(spec.source);
  if (set) return `credential ${spec.name}: set, from ${from}`;
  const fix = spec.source.kind === 'memory' ? `run \`sallyport secret set ${spec.name}\`` : `its source is ${from}`;
  const effect = spec.anonymous ? 'requests go without it' : 'requests that need it are refused';
  return `credential ${spec.name}: not set (${fix}); ${effect}`;
}
