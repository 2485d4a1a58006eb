import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { providerHosts, startProviderGateway } from '../support/provider-gateway.ts';
import { providers } from '../support/providers.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { TunnelAgent } from '../support/tunnel-client.ts';

let gateway: TestGateway;
let closeUpstream: () => Promise<void>;
let upgrades: IncomingMessage[] = [];
let farSides: WebSocket[] = [];
let closings: { code: number; reason: string }[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, providerHosts, (_request, response) => {
    response.writeHead(404);
    response.end();
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered][0] ?? false });
  upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.push(request);
    if (request.url === '/v1/declined') {
      socket.end('HTTP/1.1 426 Upgrade Required\r\nX-Reason: no sockets today\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      farSides.push(webSocket);
      webSocket.on('close', (code, reason) => closings.push({ code, reason: reason.toString() }));
      webSocket.on('message', (data, isBinary) => webSocket.send(data, { binary: isBinary }));
    });
  });
  closeUpstream = upstream.close;
  gateway = await startProviderGateway(ca, upstream);
});

afterAll(async () => {
  await gateway.stop();
  await closeUpstream();
});

beforeEach(() => {
  upgrades = [];
  farSides = [];
  closings = [];
});

function next(socket: WebSocket, event: 'message' | 'pong'): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    socket.once(event, (data: Buffer) => resolve(data));
    socket.once('error', reject);
  });
}

function closed(socket: WebSocket): Promise<{ code: number; reason: string }> {
  return new Promise((resolve) => socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })));
}

async function open(host: string, path: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const agent = new TunnelAgent(gateway, gateway.caPath);
  const socket = new WebSocket(`wss://${host}${path}`, ['json'], { agent, headers });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return socket;
}

describe('a WebSocket passes whole, opened with the real key', () => {
  test.each(providers)('$preset: text, binary, ping and large frames', async ({ host, socketPath, sent, seen }) => {
    const socket = await open(host, socketPath, { [sent[0]]: sent[1] });
    expect(socket.protocol).toBe('json');
    expect(upgrades[0]!.headers[seen[0]]).toBe(seen[1]);
    expect(upgrades[0]!.headers.host).toBe(host);
    expect(upgrades[0]!.url).toBe(socketPath);

    socket.send('hello ✓');
    expect((await next(socket, 'message')).toString()).toBe('hello ✓');
    const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256));
    socket.send(bytes);
    expect(await next(socket, 'message')).toEqual(bytes);
    socket.ping('are you there');
    expect((await next(socket, 'pong')).toString()).toBe('are you there');
    const large = Buffer.alloc(4 << 20, 'abcdefghijklmnopqrstuvwxyz');
    socket.send(large);
    expect(large.equals(await next(socket, 'message'))).toBe(true);

    const ended = closed(socket);
    socket.close(4001, 'the client is done');
    expect((await ended).code).toBe(4001);
    await eventually(() => closings.length, 'the far side hears of the close');
    expect(closings[0]).toEqual({ code: 4001, reason: 'the client is done' });
  });

  test('a close of the provider reaches the client with its code, and the connection ends', async () => {
    const { host, socketPath } = providers[1]!;
    const socket = await open(host, socketPath);
    const ended = closed(socket);
    farSides[0]!.close(4008, 'quota');
    expect(await ended).toEqual({ code: 4008, reason: 'quota' });
  });

  test('a provider that vanishes without a close frame is noticed at once', async () => {
    const { host, socketPath } = providers[1]!;
    const socket = await open(host, socketPath);
    socket.on('error', () => {});
    const ended = closed(socket);
    const before = performance.now();
    farSides[0]!.terminate();
    expect((await ended).code).toBe(1006);
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  test('a client that vanishes without a close frame takes the connection to the provider with it', async () => {
    const { host, socketPath } = providers[1]!;
    const socket = await open(host, socketPath);
    socket.on('error', () => {});
    socket.terminate();
    await eventually(() => closings.length, 'the far side hears that the client is gone');
    expect(closings[0]!.code).toBe(1006);
  });

  test('after a WebSocket nothing more is read as a request on its connection', async () => {
    const { host, socketPath } = providers[1]!;
    const socket = await open(host, socketPath);
    const before = (await gateway.journal()).length;
    const ended = closed(socket);
    farSides[0]!.terminate();
    socket.send(`GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await ended;
    expect((await gateway.journal()).length).toBe(before + 1);
  });

  test('an upgrade the provider declines is answered with its own words', async () => {
    const { host } = providers[1]!;
    const agent = new TunnelAgent(gateway, gateway.caPath);
    const socket = new WebSocket(`wss://${host}/v1/declined`, { agent });
    const answer = await new Promise<IncomingMessage>((resolve) =>
      socket.once('unexpected-response', (_request, response) => resolve(response)),
    );
    expect(answer.statusCode).toBe(426);
    expect(answer.headers['x-reason']).toBe('no sockets today');
  });

  test('an upgrade to a host that is not allowed is refused with 403', async () => {
    const agent = new TunnelAgent(gateway, gateway.caPath);
    const socket = new WebSocket('wss://elsewhere.example/', { agent });
    const failure = await new Promise<Error>((resolve) => socket.once('error', resolve));
    expect(failure.message).toContain('403');
    expect(upgrades).toEqual([]);
  });
});

const pythonClient = `
import asyncio, socket, ssl, sys, websockets
host, path, proxy_port, ca = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
sock = socket.create_connection(("127.0.0.1", proxy_port))
sock.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n".encode())
head = b""
while b"\\r\\n\\r\\n" not in head:
    head += sock.recv(1)
assert b" 200 " in head, head
async def main():
    context = ssl.create_default_context(cafile=ca)
    uri = f"wss://{host}{path}"
    async with websockets.connect(uri, sock=sock, ssl=context, server_hostname=host, max_size=None) as ws:
        await ws.send("text")
        assert await ws.recv() == "text"
        await ws.send(b"\\x00\\xff" * 300000)
        assert await ws.recv() == b"\\x00\\xff" * 300000
        await (await ws.ping())
        await ws.close(code=4002, reason="done")
        print(ws.close_code)
asyncio.run(main())`;

test.each(providers)('python websockets talks to $preset through the door', async ({ host, socketPath, seen }) => {
  const run = await runClient('/usr/bin/python3', [
    '-c',
    pythonClient,
    host,
    socketPath,
    `${gateway.port}`,
    gateway.caPath,
  ]);
  expect(run.stderr).toBe('');
  expect(run.stdout).toBe('4002\n');
  expect(upgrades[0]!.headers[seen[0]]).toBe(seen[1]);
  await eventually(() => closings.length, 'the far side hears of the close');
  expect(closings[0]).toEqual({ code: 4002, reason: 'done' });
});

/** Java's own client says `Content-Length: 0` with the upgrade. */
const javaClient = `
import java.io.FileInputStream;
import java.net.*;
import java.net.http.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.concurrent.*;
import javax.net.ssl.*;

public class Talk {
  public static void main(String[] args) throws Exception {
    KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
    roots.load(null, null);
    try (FileInputStream pem = new FileInputStream(args[2])) {
      roots.setCertificateEntry("door", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(roots);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    ProxySelector door = ProxySelector.of(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1])));
    CompletableFuture<String> heard = new CompletableFuture<>();
    WebSocket socket = HttpClient.newBuilder().proxy(door).sslContext(tls).build().newWebSocketBuilder()
      .buildAsync(URI.create(args[0]), new WebSocket.Listener() {
        public CompletionStage<?> onText(WebSocket from, CharSequence text, boolean last) {
          heard.complete(text.toString());
          return null;
        }
      }).get(60, TimeUnit.SECONDS);
    socket.sendText("from java", true).join();
    System.out.println(heard.get(60, TimeUnit.SECONDS));
    System.exit(0);
  }
}
`;

test('the WebSocket of java.net.http connects, which sends the length of a body that is none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-java-'));
  writeFileSync(join(folder, 'Talk.java'), javaClient);
  const { host, socketPath } = providers[0]!;
  const options = { cwd: folder, env: { PATH: process.env.PATH! }, timeoutMs: 120_000 };
  expect((await runClient('javac', ['Talk.java'], options)).code).toBe(0);
  const args = ['Talk', `wss://${host}${socketPath}`, String(gateway.port), gateway.caPath];
  expect(await runClient('java', args, options)).toMatchObject({ code: 0, stdout: 'from java\n' });
  rmSync(folder, { recursive: true, force: true });
}, 240_000);
