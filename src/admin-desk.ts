// What the admin API can do, put together from the rooms: registrations, credentials, checks, health, the journal. It
// decides nothing itself; `check` runs the very code that the path runs.
import * as z from 'zod';
import { canonicalise } from './accept/accept-stage.ts';
import { AdminError } from './admin/admin-error.ts';
import type { AdminPorts, CheckResult, HealthReport } from './admin/admin-ports.ts';
import { readJournal } from './audit/read-journal.ts';
import { decide } from './authorize/decide.ts';
import { bindRepository, readJsonObject, refuseParameters } from './authorize/github/authorize-github.ts';
import { askJudge } from './authorize/github/authorize-graphql.ts';
import type { GithubPorts } from './authorize/github/github-ports.ts';
import { hasJudgedBody, judgeGithubBody } from './authorize/github/judge-body.ts';
import type { Arrived, CanonicalRequest, GitOperation, Identified, Permission } from './flow/flow.ts';
import { HeaderList } from './flow/header-list.ts';
import { madeRequest } from './flow/made-request.ts';
import { Refusal } from './flow/refusal.ts';
import type { Sandbox } from './flow/sandbox.ts';
import { Trail } from './flow/trail.ts';
import { toPublic } from './identify/sandbox-record.ts';
import type { InjectStage } from './inject/inject-stage.ts';
import { SecretRejected } from './inject/secret-store.ts';
import type { CompiledPolicy } from './policy/compiled.ts';
import { type GrantParts, grantDoor } from './sandbox-grant.ts';

export interface DeskParts extends GrantParts {
  readonly inject: Pick<InjectStage, 'preview'>;
  readonly github: GithubPorts;
  readonly health: () => HealthReport;
  readonly metrics: () => Promise<string>;
  readonly journalDirectory: string;
}

const fieldValue = z.string().max(16_384);
const checkInput = z.strictObject({
  sandbox: z.string().max(256).optional(),
  method: z.string().min(1).max(32),
  url: z.string().min(1).max(65_536),
  headers: z.record(z.string().max(256), z.union([fieldValue, z.array(fieldValue).max(256)])).optional(),
  body: z.string().optional(),
});

/** Stands in when `check` names no sandbox: it may use every credential and no repository. */
const anySandbox: Sandbox = {
  id: '(any sandbox)',
  containerIp: null,
  containerId: null,
  repos: [],
  authMode: 'bot',
  allowedBranches: [],
  credentials: null,
  proof: [],
  createdAt: '',
};

export function createAdminDesk(parts: DeskParts): AdminPorts {
  const { registry, secrets } = parts;
  return {
    async register(input) {
      const { record, secret } = await registry.register(input);
      return { record: toPublic(record), proof: await grantDoor(parts, record, secret) };
    },
    list: () => registry.list().map((record) => toPublic(record)),
    find: (idOrIp) => {
      const record = registry.find(idOrIp);
      return record === null ? null : toPublic(record);
    },
    unregister: (idOrIp) => registry.remove(idOrIp),
    renew: async (id) => toPublic(await registry.renew(id)),
    setCredential: (name, value) => answering(() => secrets.set(name, value)),
    removeCredential: (name) => answering(() => secrets.remove(name)),
    listCredentials: () => secrets.list(),
    check: (input) => check(parts, input),
    health: parts.health,
    metrics: parts.metrics,
    audit: (filter) => readJournal(parts.journalDirectory, filter),
  };
}

async function check(parts: DeskParts, input: unknown): Promise<CheckResult> {
  const parsed = checkInput.safeParse(input);
  if (!parsed.success) throw new AdminError(400, 'admin.bad-request', z.prettifyError(parsed.error));
  const asked = parsed.data;
  const sandbox = asked.sandbox === undefined ? anySandbox : parts.registry.find(asked.sandbox);
  if (sandbox === null)
    throw new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${asked.sandbox}`);
  try {
    const fields = asked.body === undefined ? {} : { 'content-type': 'application/json' };
    const flow = hypothetical(asked.method, asked.url, { ...fields, ...lowerCased(asked.headers ?? {}) });
    const canonical = canonicalise(flow.request);
    const policy = parts.policy();
    const permission = decideLikeThePath(policy, sandbox, canonical, flow.request.headers);
    const identified: Identified = { ...flow, canonical, sandbox };
    if (permission.github !== null) {
      await checkGithub(parts.github, identified, permission, policy, asked.body ?? null);
    }
    const credential = await parts.inject.preview({ ...identified, permission });
    return {
      allowed: true,
      status: 200,
      code: 'allowed',
      rule: permission.rule,
      reason: reasonOf(permission, canonical.method, asked.body !== undefined),
      hint: '',
      credential,
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, code, rule, message, hint } = error;
    return { allowed: false, status, code, rule, reason: message, hint, credential: null };
  }
}

/** A call of GitHub's API, judged as the path would judge it; it may ask GitHub what the path would ask. */
async function checkGithub(
  ports: GithubPorts,
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  text: string | null,
): Promise<void> {
  const { signal } = new AbortController();
  const bound = await bindRepository(flow, permission, policy, ports, signal);
  if (text === null) return;
  const body = Buffer.from(text);
  const github = permission.github!;
  if (github.operation === 'graphql') {
    const verdict = await askJudge(flow, bound, policy, body, ports, signal);
    if (!verdict.allowed) throw verdict.refusal;
  } else if (hasJudgedBody(flow.canonical.method, github)) {
    refuseParameters(flow);
    await judgeGithubBody(flow, bound, policy, readJsonObject(body), ports, signal);
  }
}

function reasonOf({ git, github }: Permission, method: string, hasBody: boolean): string {
  if (git !== null) return `allowed; ${stillJudged(git.operation)}`;
  const waits = github !== null && (github.operation === 'graphql' || hasJudgedBody(method, github));
  return waits && !hasBody ? 'allowed; what its body asks for is judged when it comes' : 'allowed';
}

/** What of a git request is decided only when its body is there. */
function stillJudged(operation: GitOperation): string {
  if (operation === 'receive-pack')
    return 'the push itself is judged by its refs, its history and the paths it changes';
  return operation.startsWith('lfs-') ? 'what its body asks for is judged when it comes' : 'a read of its repository';
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
    if (admitted.tunnel) return admitted;
  }
  return decide(policy, sandbox, canonical, headers);
}

function lowerCased(fields: Record<string, string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
}

function hypothetical(method: string, url: string, fields: Record<string, string | string[]>): Arrived {
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

function answering<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof SecretRejected)) throw error;
    const status = error.reason === 'unknown' ? 404 : error.reason === 'has-source' ? 409 : 400;
    throw new AdminError(status, `credential.${error.reason}`, error.message);
  }
}
