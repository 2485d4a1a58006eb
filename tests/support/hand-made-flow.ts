// Flows, callers, sandboxes and canonical requests made by hand, for tests of one stage alone.

import { expect } from 'vitest';
import { Spool } from '../../src/kit/files/spool.ts';
import type { Exchange } from '../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../src/path/exchange/header-list.ts';
import type { Accepted, Caller, CanonicalRequest, RawRequest, Stated } from '../../src/path/flow.ts';
import { Refusal } from '../../src/path/refusal.ts';
import type { Sandbox } from '../../src/path/sandbox.ts';
import { accepted } from '../../src/path/stamps/accepted.ts';
import { proven } from '../../src/path/stamps/proven.ts';
import { Trail } from '../../src/path/trail.ts';
import { canonicalTarget } from '../../src/stages/accept/canonical-path.ts';
import type { AuthorizePorts } from '../../src/stages/authorize/authorize-stage.ts';
import { PushMemory } from '../../src/stages/authorize/git/push-memory.ts';
import { PushRoom } from '../../src/stages/authorize/git/push-room.ts';
import type { AskingGithub, GithubPorts } from '../../src/stages/authorize/github/github-ports.ts';

export function sandboxWith(over: Partial<Sandbox> = {}): Stated<Sandbox, 'identify'> {
  return proven({
    id: 'sbx_test',
    containerIp: '172.18.0.5',
    containerId: null,
    repos: ['acme/widgets'],
    authMode: 'bot',
    allowedBranches: ['sandbox/*'],
    credentials: null,
    proof: ['ip'],
    createdAt: '2026-01-01T00:00:00.000Z',
    ...over,
  });
}

export function callerFrom(over: Partial<Caller> = {}): Caller {
  return { door: 'proxy 127.0.0.1:8080', address: null, socketOf: null, proxyAuthorization: null, ...over };
}

export function basic(user: string, secret: string): string {
  return `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
}

/** The canonical request of `METHOD url`, its path read as the accept stage reads it. */
export function canonicalOf(method: string, url: string, kind: CanonicalRequest['kind'] = 'http'): CanonicalRequest {
  const parts = /^(https?):\/\/([^/:]+)(?::(\d+))?(.*)$/.exec(url);
  if (parts === null) throw new Error(`not a URL: ${url}`);
  const scheme = parts[1] === 'http' ? 'http' : 'https';
  const port = parts[3] === undefined ? (scheme === 'http' ? 80 : 443) : Number(parts[3]);
  const target = canonicalTarget(parts[4] === '' ? '/' : parts[4]!);
  return { scheme, host: parts[2]!, port, method, kind, ...target };
}

export function acceptedFlow(caller: Caller, canonical: CanonicalRequest, over: Partial<RawRequest> = {}): Accepted {
  const request: RawRequest = {
    protocol: 'http/1.1',
    scheme: canonical.scheme,
    method: canonical.method,
    target: canonical.rawPath,
    authority: null,
    headers: new HeaderList(),
    connect: null,
    sni: null,
    kind: canonical.kind === 'websocket' ? 'http' : canonical.kind,
    hiddenName: false,
    destination: null,
    fault: null,
    ...over,
  };
  // The stages under test never touch the conversation itself.
  const exchange = {} as Exchange;
  return {
    requestId: 'r1',
    arrivedAt: 0,
    caller,
    request,
    exchange,
    trail: new Trail(0),
    canonical: accepted(canonical),
  };
}

/** For flows that are not of git: whoever uses one of these has taken a wrong turn. */
export const noGitPorts: AuthorizePorts = {
  // No budget in these tests: those that have one use their own.
  budget: { admit: () => undefined },
  // Nobody has approved anything, and nobody is there to be asked.
  asking: { ask: async () => ({ granted: false, why: 'nobody-watches', by: null }) },
  approvals: { policyFor: (policy) => policy, coversEffect: () => false },
  spool: new Spool('/nonexistent', () => 0),
  pushRoom: new PushRoom(),
  pushMemory: new PushMemory(),
  openGitServer: () => {
    throw new Error('no git server is asked here');
  },
  lfsTickets: {
    issue: () => {
      throw new Error('no tickets are issued here');
    },
    find: () => null,
  },
  questions: {
    pull: () => Promise.reject(new Error('no pull request is asked for here')),
    repositoryById: () => Promise.reject(new Error('no repository is looked up here')),
    graphql: () => Promise.reject(new Error('no node is looked up here')),
  },
};

/** For calls of GitHub's API: nobody is there to be asked about one. */
export const nobodyToAsk: Omit<AskingGithub, keyof GithubPorts> = {
  asking: noGitPorts.asking,
  approvals: noGitPorts.approvals,
  decideNow: () => {
    throw new Error('nothing is judged again here');
  },
};

/** The refusal that `run` ends in; any other end is a failure of the test. */
export function refusalOf(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return expect.fail('nothing was refused');
}
