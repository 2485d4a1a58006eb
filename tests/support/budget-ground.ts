// A gateway with a budget for models, the three providers behind it, and sandboxes that ask them, each over a door of its own.
import type { IncomingHttpHeaders, RequestOptions } from 'node:http';
import { request } from 'node:https';
import { eventually } from './eventually.ts';
import { type Answer, type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { providers } from './providers.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';
import { type Door, TunnelAgent } from './tunnel-client.ts';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Asking {
  readonly host?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

export interface BudgetSandbox {
  readonly id: string;
  readonly door: Door;
  readonly agent: TunnelAgent;
  /** Default: a message to Anthropic. */
  ask(asking?: Asking): Promise<Reply>;
  /** Sends a request and goes away when `until` is in what came of the answer; null: as soon as it was sent. */
  cutOff(asking: Asking, until: string | null, isThere: () => boolean): Promise<void>;
  /** The records of its requests to models, when there are so many. */
  records(count: number): Promise<Record<string, unknown>[]>;
}

export interface BudgetGround {
  readonly gateway: TestGateway;
  readonly upstream: FakeUpstream;
  sandbox(): Promise<BudgetSandbox>;
  stop(): Promise<void>;
}

export async function openBudgetGround(config: Record<string, unknown>, answer: Answer): Promise<BudgetGround> {
  const ca = makeTestCa();
  const hosts = [...providers.map(({ host }) => host), 'open.example'];
  const upstream = await startFakeUpstream(ca, hosts, answer);
  const gateway = await startTestGateway({
    allow: [...providers.map(({ preset }) => ({ preset })), { host: 'open.example' }],
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
    ...config,
  });
  for (const { preset, realKey } of providers) await gateway.setSecret(preset, realKey);
  const agents: TunnelAgent[] = [];
  return {
    gateway,
    upstream,
    async sandbox() {
      const { id, grant } = await gateway.register({ proof: ['socket'] });
      const door = { socketPath: (grant as { socket: string }).socket };
      const agent = new TunnelAgent(door, gateway.caPath);
      agents.push(agent);
      return {
        id,
        door,
        agent,
        ask: (asking = {}) => askOnce(agent, asking),
        cutOff: (asking, until, isThere) => cutOff(agent, asking, until, isThere),
        records: (count) =>
          eventually(async () => {
            const found = (await gateway.journal()).filter(
              ({ sandbox, kind }) => sandbox === id && (kind === 'http' || kind === 'websocket'),
            );
            return found.length >= count ? found : null;
          }, `${count} records of ${id}`),
      };
    },
    async stop() {
      for (const agent of agents) agent.destroy();
      await gateway.stop();
      await upstream.close();
    },
  };
}

function optionsOf(agent: TunnelAgent, asking: Asking): RequestOptions {
  const { host = 'api.anthropic.com', path = '/v1/messages', method = 'POST', headers = {} } = asking;
  return { agent, host, path, method, headers: { 'content-type': 'application/json', ...headers } };
}

export function askOnce(agent: TunnelAgent, asking: Asking): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(optionsOf(agent, asking), (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end(asking.body ?? '{}');
  });
}

async function cutOff(agent: TunnelAgent, asking: Asking, until: string | null, isThere: () => boolean): Promise<void> {
  let seen = '';
  const sent = request(optionsOf(agent, asking), (response) => {
    response.on('data', (chunk: Buffer) => {
      seen += chunk.toString('latin1');
    });
    response.on('error', () => {});
  });
  sent.on('error', () => {});
  sent.end(asking.body ?? '{}');
  await eventually(() => isThere() && (until === null || seen.includes(until)), 'the request to be under way');
  sent.destroy();
}
