// A request that nobody has sent, judged by the very stage that the path runs: for `sallyport check` and for the cases of
// `sallyport policy test`. Sends nothing on; what the rules must ask GitHub they ask through the ports they are handed.
// Limits and budgets are of the moment, and are not counted.

import { plainTarget } from '../../kit/text/plain-target.ts';
import { pump } from '../../path/exchange/body-pull.ts';
import type { BodyWriter, Exchange, Framing } from '../../path/exchange/exchange.ts';
import { HeaderList } from '../../path/exchange/header-list.ts';
import type { Arrived, Authorized, CanonicalRequest, Identified, Permission, RawRequest } from '../../path/flow.ts';
import { madeRequest } from '../../path/made-request.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import { accepted } from '../../path/stamps/accepted.ts';
import { proven } from '../../path/stamps/proven.ts';
import { Trail } from '../../path/trail.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { loadPresets } from '../../policy/schema/presets.ts';
import { canonicalise } from '../../stages/accept/accept-stage.ts';
import { patternsFor } from '../../stages/authorize/allow-hints.ts';
import type { ApprovalsPort } from '../../stages/authorize/ask-person.ts';
import { createAuthorizeStage } from '../../stages/authorize/authorize-stage.ts';
import { decide } from '../../stages/authorize/decide.ts';
import type { LfsTickets } from '../../stages/authorize/git/lfs/lfs-tickets.ts';
import type { GithubPorts } from '../../stages/authorize/github/github-ports.ts';
import { bodyDecides } from '../../stages/authorize/github/judge-body.ts';
import { githubPlace } from '../../stages/authorize/github-place.ts';

export interface RehearsedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Null: none is given, and where it would decide nothing is decided. */
  readonly body: string | null;
}

export interface RehearsePorts extends GithubPorts {
  readonly lfsTickets: Pick<LfsTickets, 'find'>;
  readonly approvals: ApprovalsPort;
  /** What comes after it may pass: the credential that would go with it, or the refusal. */
  preview(flow: Authorized): Promise<string | null>;
}

export interface Rehearsed {
  readonly permission: Permission;
  readonly credential: string | null;
  /** The rule by which a person is asked first; null: nobody is. */
  readonly askedBy: string | null;
  /** What decides and is not here; null: it passes. */
  readonly open: { readonly reason: string; readonly hint: string } | null;
  /** What would send a credential along that goes to other paths of the host; empty: nothing is missing. */
  readonly hint: string;
}

/** Throws the refusal that the path would throw. */
export async function rehearse(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  asked: RehearsedRequest,
  ports: RehearsePorts,
): Promise<Rehearsed> {
  const arrived = arrive(asked);
  const canonical = canonicalise(arrived.request);
  const inForce = ports.approvals.policyFor(policy, sandbox.id);
  const permission = rehearseRules(inForce, sandbox, canonical, arrived.request.headers);
  const given = bodyOf(canonical.method, permission, asked.body);
  const exchange = new RehearsedBody(given ?? '');
  const isNamed = canonical.scheme === 'https' && canonical.kind !== 'tcp';
  const request = { ...arrived.request, sni: isNamed ? canonical.host : null };
  const kind = permission.tunnel ? 'tunnel' : canonical.kind;
  const reading = accepted({ ...canonical, kind });
  const flow: Identified = { ...arrived, request, exchange, canonical: reading, sandbox: proven(sandbox) };
  const asks: string[] = [];
  const stage = createAuthorizeStage(() => policy, noLimits, {
    ...ports,
    ...neverReached,
    lfsTickets: { ...neverIssued, find: (ticket) => ports.lfsTickets.find(ticket) },
    budget: { admit: () => undefined },
    asking: {
      ask: async ({ rule }) => {
        asks.push(rule);
        return { granted: true, how: 'check' };
      },
    },
  });
  // What was read of a body that is not there tells nothing, unless the address alone decides.
  const isOpen = (): boolean => given === null && exchange.wasRead && mayDecide(canonical.method, permission);
  const askedBy = (): string | null => asks[0] ?? null;
  try {
    const judged = await stage.run({ ...flow });
    const credential = await ports.preview(judged);
    const open = isOpen() ? waitsFor(permission) : null;
    const hint = withoutCredential(inForce, sandbox, canonical, judged.permission);
    return { permission: judged.permission, credential, askedBy: askedBy(), open, hint };
  } catch (error) {
    if (!isOpen()) throw error;
    return { permission, credential: permission.credential, askedBy: askedBy(), open: waitsFor(permission), hint: '' };
  } finally {
    flow.trail.end();
  }
}

const noLimits = {
  admit: () => undefined,
  readmit: () => undefined,
  admitRecord: () => undefined,
  admitTunnel: () => undefined,
  admitUse: () => undefined,
  pace: () => {},
};

/** A push is not read here, so that nothing of one is kept. */
const neverReached = { spool: null as never, pushRoom: null as never, pushMemory: null as never };

const neverIssued = {
  issue: () => {
    throw new Error('nothing is asked of LFS here');
  },
};

function arrive(asked: RehearsedRequest): Omit<Arrived, 'exchange'> {
  return {
    requestId: 'check',
    arrivedAt: Date.now(),
    caller: { door: 'check', address: null, socketOf: null, proxyAuthorization: null },
    request: asIfSent(asked),
    trail: new Trail(performance.now()),
  };
}

/** With what a client adds by itself. */
export function asIfSent({ method, url, headers: given, body }: RehearsedRequest): RawRequest {
  const type = usualType(method, url, body);
  const fields: Record<string, string | string[]> = type === null ? {} : { 'content-type': type };
  for (const [name, value] of Object.entries(given)) fields[name.toLowerCase()] = value;
  const headers = HeaderList.from(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const)),
  );
  const plain = plainTarget(url);
  if (plain !== null) return { ...madeRequest('https', 'CONNECT', plain, headers), connect: plain, kind: 'tcp' };
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (authority !== undefined && !headers.has('host')) headers.append('Host', authority);
  return madeRequest('https', method, url, headers);
}

/** What the usual client of such an address says of its body. */
function usualType(method: string, url: string, body: string | null): string | null {
  const pack = /\/git-(upload|receive)-pack$/.exec(url)?.[1];
  if (method === 'POST' && pack !== undefined) return `application/x-git-${pack}-pack-request`;
  if (method === 'POST' && /\/info\/lfs\//.test(url)) return 'application/vnd.git-lfs+json';
  return body === null ? null : 'application/json';
}

/**
 * By the rules alone, which need no body and nobody to ask. An https client asks for its tunnel first: what is refused there,
 * or passes undecrypted, gets no further.
 */
export function rehearseRules(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
): Permission {
  if (canonical.scheme === 'https' && canonical.kind !== 'tcp') {
    const admitted = decide(policy, sandbox, { ...canonical, kind: 'connect' }, headers);
    if (admitted.tunnel) return decide(policy, sandbox, { ...canonical, kind: 'tunnel' }, headers);
  }
  return decide(policy, sandbox, canonical, headers);
}

/** A push is not text. Nobody sends an empty push or an empty LFS batch, so an empty body means: not known. A read has no body. */
function bodyOf(method: string, { git }: Permission, body: string | null): string | null {
  if (git?.operation === 'receive-pack') return null;
  if (method === 'GET' || method === 'HEAD') return body ?? '';
  return git !== null && body === '' ? null : body;
}

function mayDecide(method: string, { github }: Permission): boolean {
  return github === null || github.operation === 'graphql' || bodyDecides(method, github);
}

function waitsFor({ git }: Permission): { reason: string; hint: string } {
  if (git?.operation === 'receive-pack') {
    return {
      reason: 'it depends on the push itself: its refs, its history and the paths it changes are judged at the door',
      hint: 'Write it as `push:` in a case of `sallyport policy test`.',
    };
  }
  return { reason: 'it depends on the body, and none was given', hint: 'Give the body: --body FILE.' };
}

/** An API that gets no credential refuses in words of its own, which say nothing of the list it is missing on. */
function withoutCredential(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  { credential, tunnel, tcp, git, github }: Permission,
): string {
  const { host, path, scheme } = canonical;
  if (tcp === true) return 'It passes unread: nothing in it is judged, searched or given a credential.';
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

// The conversation of a request that nobody has sent: it has a body to read and nobody to answer. Tells whether the body was
// asked for, since what is not read decides nothing.
class RehearsedBody implements Exchange {
  readonly form = 'payload';
  readonly requestFraming: Framing;
  readonly bytesIn = 0;
  readonly bytesOut = 0;
  readonly answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  wasRead = false;
  readonly #bytes: Buffer;

  /** Empty: none is sent. */
  constructor(text: string) {
    this.#bytes = Buffer.from(text);
    this.requestFraming = text === '' ? { kind: 'none' } : { kind: 'length', bytes: this.#bytes.length };
  }

  asPayload(): this {
    return this;
  }

  sendBody(to: BodyWriter): void {
    this.wasRead = true;
    void pump(once(this.#bytes), to);
  }

  inform(): never {
    return nobody();
  }

  respond(): never {
    return nobody();
  }

  goRaw(): never {
    return nobody();
  }

  answer(): never {
    return nobody();
  }

  abort(): void {}
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}

function nobody(): never {
  throw new Error('a rehearsed request is never answered');
}
