// One gateway whose limits a test changes as it goes: a far side that streams as many bytes as it is asked for, and
// sandboxes that are registered anew for each case, because limits are remembered.
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { startStreamingUpstream } from './fake-upstream.ts';
import { makeTestCa, type TestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';
import { type Door, openTls, TunnelRefused } from './tunnel-client.ts';
import { Wire } from './wire.ts';

export interface Told {
  readonly status: number;
  readonly code: string | null;
  readonly rule: string | null;
  readonly retryAfter: number | null;
  readonly text: string;
  /** The connection ended before the answer did. */
  readonly broken: boolean;
}

export interface LimitsGround {
  readonly gateway: TestGateway;
  readonly ca: TestCa;
  /** In force when it resolves. */
  limit(limits: Record<string, unknown>, beside?: Record<string, unknown>): Promise<void>;
  /** A new sandbox with a private socket. */
  sandbox(registration?: Record<string, unknown>): Promise<{ readonly id: string; readonly socketPath: string }>;
  /** One request on a connection of its own. */
  ask(door: Door, host: string, path?: string, more?: Ask): Promise<Told>;
  stop(): Promise<void>;
}

export interface Ask {
  readonly method?: string;
  readonly fields?: readonly string[];
  readonly body?: string;
}

export const hosts = {
  keyed: 'api.example',
  alsoKeyed: 'second.example',
  open: 'open.example',
  pinned: 'pinned.example',
  git: 'github.com',
};

/** `/bytes/N`: N bytes without a length; `/length/N`: with one; `/hold`: no answer. Anything else: `ok`. `/all/N` as a WebSocket: says so after N bytes. */
function answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const asked = /^\/(bytes|length)\/(\d+)$/.exec(request.url ?? '');
  if (request.url === '/hold') return;
  if (asked === null) {
    request.resume().on('end', () => response.end('ok'));
    return;
  }
  const bytes = Number(asked[2]);
  if (asked[1] === 'length') response.setHeader('content-length', bytes);
  let left = bytes;
  const write = (): void => {
    while (left > 0) {
      const chunk = Buffer.alloc(Math.min(left, 16_384), 'x');
      left -= chunk.length;
      if (!response.write(chunk)) break;
    }
    if (left === 0) response.end();
  };
  response.on('drain', write);
  write();
}

/** `more`: beside the limits, in the policy. */
export async function openLimitsGround(
  first: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): Promise<LimitsGround> {
  const ca = makeTestCa();
  const names = Object.values(hosts);
  const upstream = await startStreamingUpstream(ca, names, answer);
  upstream.server.on('upgrade', (request, socket) => {
    let missing = Number(/^\/all\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0);
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    if (missing === 0) return;
    socket.on('data', (chunk: Buffer) => {
      missing -= chunk.length;
      if (missing === 0) socket.write(Buffer.from('\x82\x03all', 'latin1'));
    });
  });
  const document = (limits: Record<string, unknown>, beside = more): Record<string, unknown> => ({
    allow: names.map((host) => (host === hosts.pinned ? { host, tunnel: true } : { host })),
    credentials: {
      key: { hosts: [hosts.keyed], inject: { header: 'x-api-key' } },
      other: { hosts: [hosts.alsoKeyed], inject: { header: 'x-api-key' } },
    },
    limits,
    upstream: {
      resolve: Object.fromEntries(names.map((name) => [name, upstream.address])),
      ca: ca.path,
    },
    ...beside,
  });
  const gateway = await startTestGateway(document(first));
  for (const name of ['key', 'other']) await gateway.setSecret(name, 'a-real-key-of-the-operator');
  let count = 0;
  return {
    gateway,
    ca,
    async limit(limits, beside) {
      gateway.writeConfig(document(limits, beside));
      await gateway.gateway.reload();
    },
    async sandbox(registration = {}) {
      const id = `sandbox-${++count}`;
      const { grant } = await gateway.register({ id, proof: ['socket'], ...registration });
      return { id, socketPath: (grant as { socket: string }).socket };
    },
    async ask(door, host, path = '/', { method = 'GET', fields = [], body = '' } = {}) {
      let wire: Wire;
      try {
        wire = new Wire(
          await openTls(door, `${host}:443`, { caPath: host === hosts.pinned ? ca.path : gateway.caPath }),
        );
      } catch (error) {
        if (error instanceof TunnelRefused) return told(error.head, false);
        throw error;
      }
      const lines = [...fields, ...(body === '' ? [] : [`Content-Length: ${body.length}`])];
      wire.send(
        `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`,
      );
      const text = await wire.rest();
      return told(text, wire.ended === 'error' || isUnfinished(text));
    },
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

function isUnfinished(text: string): boolean {
  return /^transfer-encoding: *chunked/im.test(text) && !text.endsWith('0\r\n\r\n');
}

function told(text: string, broken: boolean): Told {
  const field = (name: string): string | null => new RegExp(`^${name}: *(\\S+)`, 'im').exec(text)?.[1] ?? null;
  const retryAfter = field('retry-after');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0),
    code: field('x-sallyport-refused'),
    rule: /"rule":"([^"]+)"|\(rule ([^,]+),/.exec(text)?.slice(1).find(Boolean) ?? null,
    retryAfter: retryAfter === null ? null : Number(retryAfter),
    text,
    broken,
  };
}
