import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Duplex } from 'node:stream';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { clientEnvironment } from '../../support/client-environment.ts';
import { startStreamingUpstream } from '../../support/fake-upstream.ts';
import { runClient, startClient } from '../../support/run-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { TunnelAgent } from '../../support/tunnel-client.ts';

const host = 'api.example';
const key = 'planted-key-7f3a9c51d2';
const masked = '*'.repeat(key.length);
const filler = 'words and more words, '.repeat(20_000);
let gateway: TestGateway;
let closeUpstream: () => Promise<void>;
let sendNext: () => void = () => {};
const accepted: (string | undefined)[] = [];

/** Answers in the first coding that it was offered, as servers do, with the key that came. */
function answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const seen = String(request.headers['x-api-key']);
  const accepts = request.headers['accept-encoding'] as string | undefined;
  accepted.push(accepts);
  if (request.url === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    const coder = createGzip();
    coder.on('data', (piece: Buffer) => response.write(piece));
    coder.on('end', () => response.end());
    coder.write('data: first\n\n');
    coder.flush();
    sendNext = () => coder.end(`data: ${seen}\n\n`);
    return;
  }
  const text = `${filler}${seen}${filler}`;
  const coding = /\b(gzip|br|deflate)\b/.exec(accepts ?? '')?.[1];
  const code = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[coding ?? ''];
  response.writeHead(200, coding === undefined ? {} : { 'content-encoding': coding });
  response.end(code === undefined ? text : code(text));
}

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host], answer);
  closeUpstream = upstream.close;
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 0 } });
  upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const seen = String(request.headers['x-api-key']);
      // Says how it was spoken to, and repeats what it was sent with the key behind it.
      webSocket.send(JSON.stringify({ extensions: webSocket.extensions, key: seen }));
      webSocket.on('message', (data: RawData, isBinary: boolean) => {
        webSocket.send(Buffer.concat([data as Buffer, Buffer.from(seen)]), { binary: isBinary });
      });
    });
  });
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', key);
});

afterAll(async () => {
  await gateway.stop();
  await closeUpstream();
});

function python(script: string) {
  return runClient('/usr/bin/python3', ['-c', script], { env: clientEnvironment(gateway) });
}

const readers: [string, () => ReturnType<typeof runClient>][] = [
  ['curl, HTTP/1.1', () => curl('--http1.1', '--compressed')],
  ['curl, HTTP/2', () => curl('--http2', '--compressed')],
  ['curl with brotli alone', () => curl('--http2', '--compressed', '-H', 'Accept-Encoding: br')],
  ['curl with deflate alone', () => curl('--http1.1', '--compressed', '-H', 'Accept-Encoding: deflate')],
  ['curl that asks for nothing', () => curl('--http1.1')],
  ['python requests', () => python(`import requests\nprint(requests.get("https://${host}/").text, end="")`)],
  ['python httpx', () => python(`import httpx\nprint(httpx.get("https://${host}/").text, end="")`)],
];

function curl(...args: string[]) {
  return runClient('curl', ['-sS', '-m', '30', ...args, `https://${host}/`], { env: clientEnvironment(gateway) });
}

describe('a real client reads a compressed answer to its end, and no credential in it', () => {
  test.each(readers)('%s', async (_client, run) => {
    const { stdout, stderr, code } = await run();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout === `${filler}${masked}${filler}`).toBe(true);
    expect(accepted.at(-1)).not.toMatch(/zstd|\*/);
  });

  test('an event of a compressed stream arrives before the next is sent', async () => {
    const client = startClient('curl', ['-sSN', '-m', '30', '--compressed', `https://${host}/events`], {
      env: clientEnvironment(gateway),
    });
    expect(await client.stdout.until('\n\n')).toBe('data: first\n\n');
    sendNext();
    expect(await client.stdout.until('\n\n')).toBe(`data: ${masked}\n\n`);
    expect(await client.ended).toBe(0);
  });
});

describe('a real client of a WebSocket talks in compressed messages, and no credential comes back', () => {
  test.each([
    ['with context', { threshold: 0 }],
    ['without', { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true }],
    ['with small windows', { threshold: 0, serverMaxWindowBits: 9, clientMaxWindowBits: 9 }],
  ])('ws, %s', async (_how, perMessageDeflate) => {
    const agent = new TunnelAgent(gateway, gateway.caPath);
    const socket = new WebSocket(`wss://${host}/live`, { agent, perMessageDeflate });
    const received: Buffer[] = [];
    let wake: (failure?: Error) => void = () => {};
    socket.on('message', (data: Buffer) => {
      received.push(data);
      wake();
    });
    socket.on('error', (error) => wake(error));
    const next = async (): Promise<string> => {
      while (received.length === 0) {
        await new Promise<void>((resolve, reject) => {
          wake = (failure) => (failure === undefined ? resolve() : reject(failure));
        });
      }
      return received.shift()!.toString();
    };
    expect(JSON.parse(await next())).toEqual({ extensions: 'permessage-deflate', key: masked });
    expect(socket.extensions).toBe('permessage-deflate');
    for (const text of ['hello', 'hello', '', filler, 'hello']) {
      socket.send(text);
      expect((await next()) === `${text}${masked}`).toBe(true);
      socket.send(Buffer.from(text));
      expect((await next()) === `${text}${masked}`).toBe(true);
    }
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(1000);
    expect(await closed).toBe(1000);
    agent.destroy();
  });

  test('python websockets', async () => {
    const { stdout, stderr } = await python(`
import asyncio, os, socket, ssl, websockets
from urllib.parse import urlparse

async def main():
    proxy = urlparse(os.environ["HTTPS_PROXY"])
    door = socket.create_connection((proxy.hostname, proxy.port))
    door.sendall(b"CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}:443\\r\\n\\r\\n")
    while not door.recv(4096).endswith(b"\\r\\n\\r\\n"):
        pass
    trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    async with websockets.connect("wss://${host}/live", sock=door, ssl=trust, server_hostname="${host}", max_size=None) as live:
        print(live.extensions[0].name, await live.recv())
        for text in ["hello", "hello", "x" * 200000]:
            await live.send(text)
            echo = await live.recv()
            print(echo == text + "*" * ${key.length})

asyncio.run(main())`);
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual([
      `permessage-deflate {"extensions":"permessage-deflate","key":"${masked}"}`,
      'True',
      'True',
      'True',
    ]);
  });
});
