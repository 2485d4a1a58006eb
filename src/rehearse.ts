// A request that nobody has sent, judged by the very code that the path runs: for `sallyport check` and for the cases of
// `sallyport policy test`. Sends nothing on; what the rules must ask GitHub they ask through the ports they are handed.
import { canonicalise } from './accept/accept-stage.ts';
import { patternsFor } from './authorize/allow-hints.ts';
import { effectRule } from './authorize/ask-person.ts';
import { refuseBareBody } from './authorize/bare-requests.ts';
import { decide } from './authorize/decide.ts';
import { bindRepository, readJsonObject, refuseParameters } from './authorize/github/authorize-github.ts';
import { askJudge } from './authorize/github/authorize-graphql.ts';
import type { GithubPorts } from './authorize/github/github-ports.ts';
import { hasJudgedBody, judgeGithubBody } from './authorize/github/judge-body.ts';
import { githubPlace } from './authorize/github-place.ts';
import type { Framing } from './flow/exchange.ts';
import type { Arrived, Authorized, CanonicalRequest, GitOperation, Identified, Permission } from './flow/flow.ts';
import type { GithubEffect } from './flow/github-effects.ts';
import { HeaderList } from './flow/header-list.ts';
import { madeRequest } from './flow/made-request.ts';
import type { Sandbox } from './flow/sandbox.ts';
import { Trail } from './flow/trail.ts';
import type { CompiledPolicy } from './policy/compiled.ts';
import { loadPresets } from './policy/presets.ts';

export interface RehearsedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Null: none is given, and what it would say is not judged. */
  readonly body: string | null;
}

export interface Rehearsed {
  readonly flow: Authorized;
  /** What of it is judged only when it comes; `allowed` when nothing is. */
  readonly reason: string;
  /** What would send a credential along that goes to other paths of the host; empty: nothing is missing. */
  readonly hint: string;
}

/** Throws the refusal that the path would throw. */
export async function rehearse(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  asked: RehearsedRequest,
  github: GithubPorts,
): Promise<Rehearsed> {
  const arrived = arrive(asked);
  const canonical = canonicalise(arrived.request);
  const permission = decideLikeThePath(policy, sandbox, canonical, arrived.request.headers);
  refuseBareBody(canonical, permission, framingOf(asked.body));
  const identified: Identified = { ...arrived, canonical, sandbox };
  const effects =
    permission.github === null ? [] : await judgeGithub(github, identified, permission, policy, asked.body);
  const isAsked = effects.some((effect) => policy.githubAsks[sandbox.authMode].has(effect));
  const reason = reasonOf(permission, canonical.method, asked.body !== null);
  const askedBy = isAsked ? { askedBy: effectRule(identified) } : {};
  const hint = withoutCredential(policy, sandbox, canonical, permission);
  return { flow: { ...identified, permission: { ...permission, ...askedBy } }, reason, hint };
}

function framingOf(body: string | null): Framing {
  return body === null ? { kind: 'none' } : { kind: 'length', bytes: Buffer.byteLength(body) };
}

function arrive({ method, url, headers: given, body }: RehearsedRequest): Arrived {
  const fields: Record<string, string | string[]> = body === null ? {} : { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(given)) fields[name.toLowerCase()] = value;
  const headers = HeaderList.from(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const)),
  );
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (authority !== undefined && !headers.has('host')) headers.append('Host', authority);
  const exchange = null as never; // nothing is forwarded or answered, so no stage that runs here touches it
  return {
    requestId: 'check',
    arrivedAt: Date.now(),
    caller: { door: 'check', address: null, socketOf: null, proxyAuthorization: null },
    request: madeRequest('https', method, url, headers),
    exchange,
    trail: new Trail(performance.now()),
  };
}

/** An https client asks for its tunnel first: what is refused there, or passes undecrypted, gets no further. */
function decideLikeThePath(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
): Permission {
  if (canonical.scheme === 'https') {
    const admitted = decide(policy, sandbox, { ...canonical, kind: 'connect' }, headers);
    if (admitted.tunnel) return decide(policy, sandbox, { ...canonical, kind: 'tunnel' }, headers);
  }
  return decide(policy, sandbox, canonical, headers);
}

/** A call of GitHub's API, judged as the path would judge it; it may ask GitHub what the path would ask. What its body has of effects. */
async function judgeGithub(
  ports: GithubPorts,
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  text: string | null,
): Promise<readonly GithubEffect[]> {
  const { signal } = new AbortController();
  const bound = await bindRepository(flow, permission, policy, ports, signal);
  if (text === null) return [];
  const body = Buffer.from(text);
  const github = permission.github!;
  if (github.operation === 'graphql') {
    const verdict = await askJudge(flow, bound, policy, body, ports, signal);
    if (!verdict.allowed) throw verdict.refusal;
    return verdict.effects;
  }
  if (!hasJudgedBody(flow.canonical.method, github)) return [];
  refuseParameters(flow);
  return judgeGithubBody(flow, bound, policy, readJsonObject(body), ports, signal);
}

function reasonOf({ git, github }: Permission, method: string, hasBody: boolean): string {
  if (git !== null) return `allowed; ${stillJudged(git.operation)}`;
  const waits = github !== null && (github.operation === 'graphql' || hasJudgedBody(method, github));
  return waits && !hasBody ? 'allowed; what its body asks for is judged when it comes' : 'allowed';
}

/** An API that gets no credential refuses in words of its own, which say nothing of the list it is missing on. */
function withoutCredential(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  { credential, tunnel, git, github }: Permission,
): string {
  const { host, path, scheme } = canonical;
  if (credential !== null || tunnel || git !== null || github !== null || scheme !== 'https') return '';
  if (githubPlace(policy, canonical) !== null || policy.tokenEndpoints.at(host, path) !== undefined) return '';
  const near = policy
    .credentialsFor(host)
    .find(({ name }) => sandbox.credentials === null || sandbox.credentials.includes(name));
  if (near === undefined) return '';
  const key = loadPresets().credentials.has(near.name) ? 'add_paths' : 'paths';
  const patterns = patternsFor(canonical).map((pattern) => `"${pattern}"`);
  return `It goes without a credential: ${near.name} goes to other paths of ${host}. To send it here too, the operator adds ${patterns.join(' and ')} to credentials.${near.name}.${key}`;
}

/** What of a git request is decided only when its body is there. */
function stillJudged(operation: GitOperation): string {
  if (operation === 'receive-pack')
    return 'the push itself is judged by its refs, its history and the paths it changes';
  return operation.startsWith('lfs-') ? 'what its body asks for is judged when it comes' : 'a read of its repository';
}
