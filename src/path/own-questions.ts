// What the gateway asks by itself, as flows: a question about a request that is being judged, and a call of the gateway's
// own. The one place beside the stages where facts are stamped; paths.ts says which stages such a flow takes.
import type { Exchange } from './exchange/exchange.ts';
import type { HeaderList } from './exchange/header-list.ts';
import type { OutgoingRequest } from './exchange/outgoing-request.ts';
import type { Authorized, CanonicalRequest, GitOperation, Identified, Injected, Permission } from './flow.ts';
import { madeRequest } from './made-request.ts';
import type { Sandbox } from './sandbox.ts';
import { accepted } from './stamps/accepted.ts';
import { granted } from './stamps/granted.ts';
import { proven } from './stamps/proven.ts';
import { Trail } from './trail.ts';

/** The target of a question, read as the accept stage reads one. */
export type QuestionTarget = Pick<CanonicalRequest, 'path' | 'rawPath' | 'query'>;

export interface OwnQuestion {
  /** Null: not one of git. */
  readonly operation: GitOperation | null;
  readonly method: 'GET' | 'POST';
  readonly target: QuestionTarget;
  readonly headers: HeaderList;
  readonly exchange: Exchange;
}

/** Asked of the very host that the judged request is for, as its sandbox, with what that request was granted: no more. */
export function questionAbout(flow: Identified, permission: Permission, question: OwnQuestion): Authorized {
  const { scheme, host, port } = flow.canonical;
  const { operation, method, target, headers, exchange } = question;
  const git = permission.git === null || operation === null ? null : { ...permission.git, operation };
  return {
    requestId: flow.requestId,
    arrivedAt: Date.now(),
    caller: flow.caller,
    request: madeRequest(scheme, method, asWritten(target), headers),
    exchange,
    trail: new Trail(performance.now()),
    canonical: accepted({ scheme, host, port, method, kind: 'http', ...target }),
    sandbox: flow.sandbox,
    permission: granted({ ...permission, git }),
  };
}

export interface OwnCall {
  readonly host: string;
  readonly method: string;
  readonly target: QuestionTarget;
  /** The credential is in it already: only inject/ can make one. */
  readonly outgoing: OutgoingRequest;
  readonly exchange: Exchange;
  /** Whose connections it uses: `(gateway)`, or a name that no other call has. */
  readonly connectionsOf: string;
}

/** Belongs to no sandbox: what it may ask is in the code that asks, and goes out over https alone. */
export function ownCall({ host, method, target, outgoing, exchange, connectionsOf }: OwnCall): Injected {
  return {
    requestId: 'gateway',
    arrivedAt: Date.now(),
    caller: { door: '(gateway)', address: null, socketOf: null, proxyAuthorization: null },
    request: madeRequest('https', method, outgoing.target, outgoing.headers),
    exchange,
    trail: new Trail(performance.now()),
    canonical: accepted({ scheme: 'https', host, port: 443, method, kind: 'http', ...target }),
    sandbox: proven({ ...nobody, id: connectionsOf }),
    permission: granted(byItself),
    outgoing,
    injected: null,
  };
}

function asWritten({ rawPath, query }: QuestionTarget): string {
  return query === null ? rawPath : `${rawPath}?${query}`;
}

const nobody: Omit<Sandbox, 'id'> = {
  containerIp: null,
  containerId: null,
  repos: [],
  authMode: 'bot',
  allowedBranches: [],
  credentials: [],
  proof: [],
  createdAt: '',
};

const byItself: Permission = {
  rule: 'built-in: the gateway itself',
  tunnel: false,
  credential: null,
  git: null,
  github: null,
  repository: null,
};
