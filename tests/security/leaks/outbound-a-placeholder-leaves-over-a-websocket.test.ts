// Must not happen: a placeholder or a real key leaves in a message of a WebSocket for a host that it does not belong to.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';

import { startStreamingUpstream } from '../../support/fake-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { TunnelAgent } from '../../support/tunnel-client.ts';
import { misplaced, outbound, outboundConfig, placeholder, realKey } from './outbound-ground.ts';

const hosts = ['open.example', 'api.example', 'model.example'];
let gateway: TestGateway;
let closeUpstream: () => Promise<void>;
let received: string[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, hosts, (_request, response) => response.end());
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 0 } });
  upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => {});
      webSocket.on('ping', (data: Buffer) => received.push(data.toString()));
      webSocket.on('message', (data: Buffer, isBinary) => {
        received.push(data.toString());
        webSocket.send(data, { binary: isBinary });
      });
    });
  });
  closeUpstream = upstream.close;
  gateway = await startTestGateway({
    ...outboundConfig(),
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', realKey);
});

afterAll(async () => {
  await gateway.stop();
  await closeUpstream();
});

beforeEach(() => {
  received = [];
});

interface Client {
  readonly socket: WebSocket;
  readonly closed: Promise<void>;
  say(data: string | Buffer, options?: { fin?: boolean; compress?: boolean }): void;
}

async function connect(host: string, deflate: boolean): Promise<Client> {
  const agent = new TunnelAgent(gateway, gateway.caPath);
  const perMessageDeflate = deflate ? { threshold: 0 } : false;
  const socket = new WebSocket(`wss://${host}/live`, { agent, perMessageDeflate });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return { socket, closed, say: (data, options = {}) => socket.send(data, { compress: deflate, ...options }) };
}

async function expectEnded(client: Client, code: string, incident: string): Promise<void> {
  await client.closed;
  expect(received.join()).not.toContain('sallyport-placeholder');
  expect(received.join()).not.toContain(realKey);
  await vi.waitFor(
    async () => {
      const record = (await gateway.journal()).findLast(({ kind }) => kind === 'websocket');
      expect(record).toMatchObject({ verdict: 'refused', code, incident });
    },
    { timeout: 20_000 },
  );
}

const inMessage = 'placeholder of key in a message';

describe.each([
  ['plain', false],
  ['compressed', true],
])('over a WebSocket with %s messages nothing leaves that does not belong', (_how, deflate) => {
  test('a placeholder in a message of text, after others that pass', async () => {
    const client = await connect('open.example', deflate);
    expect(client.socket.extensions).toBe(deflate ? 'permessage-deflate' : '');
    client.say('hello');
    await vi.waitFor(() => expect(received).toEqual(['hello']), { timeout: 20_000 });
    client.say(`and ${placeholder}`);
    await expectEnded(client, misplaced, inMessage);
  });

  test('a placeholder in a binary message', async () => {
    const client = await connect('open.example', deflate);
    client.say(Buffer.from(`\x00\x01${placeholder}`));
    await expectEnded(client, misplaced, inMessage);
  });

  test('a placeholder across three frames', async () => {
    const client = await connect('open.example', deflate);
    for (const part of [placeholder.slice(0, 15), placeholder.slice(15, 30)]) client.say(part, { fin: false });
    client.say(placeholder.slice(30), { fin: true });
    await expectEnded(client, misplaced, inMessage);
  });

  test('a real key, at home and to a model', async () => {
    for (const host of ['api.example', 'model.example']) {
      const client = await connect(host, deflate);
      client.say(`{"key": "${realKey.replaceAll('/', '\\/')}"}`);
      await expectEnded(client, outbound, 'value of key in a message');
    }
  });

  test('to a model a placeholder passes and is recorded, and at home it passes', async () => {
    const model = await connect('model.example', deflate);
    model.say(`I have read ${placeholder}`);
    await vi.waitFor(() => expect(received).toEqual([`I have read ${placeholder}`]), { timeout: 20_000 });
    model.socket.close();
    await model.closed;
    await vi.waitFor(
      async () => {
        const record = (await gateway.journal()).findLast(({ host }) => host === 'model.example');
        expect(record).toMatchObject({ verdict: 'allowed', incident: inMessage });
      },
      { timeout: 20_000 },
    );
    const home = await connect('api.example', deflate);
    home.say(placeholder);
    home.say('x'.repeat(300_000));
    await vi.waitFor(
      () => expect(received.map((text) => text.length)).toEqual([expect.any(Number), placeholder.length, 300_000]),
      { timeout: 20_000 },
    );
    home.socket.close();
    await home.closed;
  });
});

describe('over a WebSocket', () => {
  test('a placeholder in a ping does not leave', async () => {
    const client = await connect('open.example', false);
    client.socket.ping(placeholder);
    await expectEnded(client, misplaced, inMessage);
  });

  test('a placeholder in the handshake does not leave', async () => {
    const agent = new TunnelAgent(gateway, gateway.caPath);
    const socket = new WebSocket(`wss://open.example/live?k=${placeholder}`, [placeholder], { agent });
    const status = await new Promise((resolve) => {
      socket.once('unexpected-response', (_request, response: IncomingMessage) => resolve(response.statusCode));
      socket.once('error', () => {});
    });
    expect(status).toBe(403);
    agent.destroy();
  });
});
