// A gateway with hosts that a person is asked about, a far side that counts who connects to it, and a person who looks on
// over the admin socket. `ask.example` and `other.example` ask, `open.example` does not, `pinned.example` is a tunnel.
import { type ClientRequest, request as httpRequest } from 'node:http';
import type { Question } from '../../src/path/approvals.ts';
import { eventually } from './eventually.ts';
import { type Answer, type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { type ClientRun, runClient } from './run-client.ts';
import { makeTestCa, type TestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export const askingHosts = ['ask.example', 'other.example', 'open.example', 'pinned.example'] as const;

export interface ApprovalGround {
  readonly gateway: TestGateway;
  readonly upstream: FakeUpstream;
  readonly ca: TestCa;
  /** Connections that anybody made to the far side. */
  readonly connections: number;
  /** From now on somebody looks on, until `look` is ended. */
  watch(): Promise<Watcher>;
  /** What waits, when it is so many. */
  waiting(count?: number): Promise<readonly Question[]>;
  answer(id: string, body: object): Promise<{ status: number; body: string }>;
  curl(url: string, ...more: string[]): Promise<ClientRun>;
  stop(): Promise<void>;
}

export interface Watcher {
  readonly events: Record<string, unknown>[];
  end(): void;
}

export const approvalPolicy = {
  allow: [
    { host: 'ask.example', ask: true, plain_http: true },
    { host: 'other.example', ask: true },
    { host: 'open.example' },
    { host: 'pinned.example', tunnel: true, ask: true },
  ],
};

export async function openApprovalGround(
  config: Record<string, unknown> = {},
  answer?: Answer,
): Promise<ApprovalGround> {
  const ca = makeTestCa();
  const upstream = await startFakeUpstream(ca, askingHosts, answer);
  let connections = 0;
  upstream.server.on('connection', () => connections++);
  const resolve = Object.fromEntries(askingHosts.map((host) => [host, upstream.address]));
  const gateway = await startTestGateway({ ...approvalPolicy, upstream: { resolve, ca: ca.path }, ...config });
  const watchers = new Set<Watcher>();
  const list = async (): Promise<readonly Question[]> =>
    (await gateway.admin('GET', '/internal/questions')).json<{ questions: Question[] }>().questions;
  return {
    gateway,
    upstream,
    ca,
    get connections() {
      return connections;
    },
    async watch() {
      const watcher = await openWatch(gateway.gateway.summary.adminSocket);
      watchers.add(watcher);
      return watcher;
    },
    waiting: (count = 1) =>
      eventually(async () => {
        const found = await list();
        return found.length === count ? found : null;
      }, `${count} requests wait`),
    answer: (id, body) => gateway.admin('POST', `/internal/questions/${id}`, body),
    curl: (url, ...more) =>
      runClient('curl', ['-sS', '-m', '40', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, url, ...more]),
    async stop() {
      for (const watcher of watchers) watcher.end();
      await gateway.stop();
      await upstream.close();
    },
  };
}

/** Reads `GET /internal/watch` as a person's terminal does. */
export function openWatch(socketPath: string): Promise<Watcher> {
  const events: Record<string, unknown>[] = [];
  return new Promise((resolve, reject) => {
    const request: ClientRequest = httpRequest({ socketPath, path: '/internal/watch', agent: false }, (response) => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) events.push(JSON.parse(line) as Record<string, unknown>);
      });
      response.on('error', () => {});
      resolve({ events, end: () => request.destroy() });
    });
    request.on('error', reject);
    request.end();
  });
}
