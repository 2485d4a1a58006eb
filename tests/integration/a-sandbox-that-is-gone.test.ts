import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openHttp2, openTls, openTunnel } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
const pinned = 'pinned.example';
const plain = 'plain.example';
const ca = makeTestCa();
let gateway: TestGateway;
let closers: (() => Promise<unknown> | unknown)[] = [];
let openAtFarSide = 0;

beforeAll(async () => {
  const upstream = await startStreamingUpstream(ca, [host, pinned], (_request, response) => {
    openAtFarSide++;
    response.on('close', () => openAtFarSide--);
    response.writeHead(200);
    response.write('beginning');
  });
  upstream.server.on('upgrade', (_request, socket) => {
    openAtFarSide++;
    socket.on('close', () => openAtFarSide--);
    socket.on('error', () => {});
    // A text message of nine bytes: what is no frame would not pass.
    const message = '\x81\x09beginning';
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    socket.write(Buffer.from(head + message, 'latin1'));
  });
  const plainServer = createServer((_request, response) => {
    openAtFarSide++;
    response.on('close', () => openAtFarSide--);
    response.writeHead(200);
    response.write('beginning');
  });
  await new Promise<void>((resolve) => plainServer.listen(0, '127.0.0.1', resolve));
  gateway = await startTestGateway({
    allow: [{ host }, { host: pinned, tunnel: true }, { host: plain, plain_http: true, ports: [80] }],
    upstream: {
      resolve: {
        [host]: upstream.address,
        [pinned]: upstream.address,
        [plain]: `127.0.0.1:${(plainServer.address() as AddressInfo).port}`,
      },
      ca: ca.path,
    },
  });
  closers = [
    () => gateway.stop(),
    () => upstream.close(),
    () => {
      plainServer.closeAllConnections();
      plainServer.close();
    },
  ];
});

afterAll(async () => {
  for (const close of closers) await close();
});

const ask = (name: string, more = ''): string => `GET / HTTP/1.1\r\nHost: ${name}\r\n${more}\r\n`;

describe('a sandbox that is unregistered is cut off at once, whatever it is doing', () => {
  const doings: Record<string, () => Promise<Wire>> = {
    'an answer over HTTP/1.1': async () => {
      const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
      wire.send(ask(host));
      return wire;
    },
    'an answer over HTTP/2': async () => {
      const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
      session.on('error', () => {});
      return new Wire(session.request({ ':path': '/' }));
    },
    'a WebSocket': async () => {
      const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
      wire.send(ask(host, 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
      return wire;
    },
    'a tunnel that is not opened': async () => {
      const wire = new Wire(await openTls(gateway, `${pinned}:443`, { caPath: ca.path }));
      wire.send(ask(pinned));
      return wire;
    },
    'an answer over plain http': async () => {
      const wire = new Wire(connect(gateway.port, gateway.host));
      wire.send(`GET http://${plain}/ HTTP/1.1\r\nHost: ${plain}\r\n\r\n`);
      return wire;
    },
    'plain http inside a CONNECT': async () => {
      const wire = new Wire(await openTunnel(gateway, `${plain}:80`));
      wire.send(ask(plain));
      return wire;
    },
  };

  test.each(Object.keys(doings))('%s', async (what) => {
    const { id } = await gateway.register();
    const wire = await doings[what]!();
    await wire.until('beginning');
    expect(openAtFarSide).toBe(1);
    expect((await gateway.admin('DELETE', `/internal/containers/${id}`)).status).toBe(204);
    await wire.rest();
    await eventually(() => openAtFarSide === 0, 'the far side is let go of as well');
    const after = await runClient('curl', [
      ...[
        '-sS',
        '-m',
        '5',
        '-x',
        gateway.proxyUrl,
        '--cacert',
        gateway.caPath,
        '-w',
        '%{http_connect}',
        `https://${host}/`,
      ],
    ]);
    expect(after.stdout).toContain('403');
    wire.socket.destroy();
  });

  test('its private socket disappears, and what is open on it', async () => {
    const { id, grant } = await gateway.register({ proof: ['socket'] });
    const { socket: socketPath } = grant as { socket: string };
    const wire = new Wire(await openTls({ socketPath }, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(ask(host));
    await wire.until('beginning');
    await gateway.admin('DELETE', `/internal/containers/${id}`);
    await wire.rest();
    expect(existsSync(socketPath)).toBe(false);
  });

  test('another sandbox is not touched', async () => {
    const mine = await gateway.register();
    const other = await gateway.register({ container_ip: '127.0.0.2' });
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(ask(host));
    await wire.until('beginning');
    await gateway.admin('DELETE', `/internal/containers/${other.id}`);
    await sleep(50);
    expect(wire.ended).toBe('open');
    await gateway.admin('DELETE', `/internal/containers/${mine.id}`);
    await wire.rest();
  });
});

describe('a registration that ends at a set time', () => {
  test('is told so once, and is unknown from then on', async () => {
    const expiresAt = new Date(Date.now() + 3_000);
    const { id } = await gateway.register({ container_ip: '127.0.0.1', expires_at: expiresAt.toISOString() });
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(ask(host));
    expect((await wire.until('beginning')).startsWith('HTTP/1.1 200 ')).toBe(true);
    expect((await gateway.admin('POST', `/internal/containers/${id}/renew`)).status).toBeGreaterThanOrEqual(400);
    await sleep(expiresAt.getTime() - Date.now() + 20);
    const codes: string[] = [];
    for (let i = 0; i < 2; i++) {
      await openTunnel(gateway, `${host}:443`).catch((error: { head: string }) => {
        codes.push(/"code":"([^"]+)"/.exec(error.head)![1]!);
      });
    }
    expect(codes).toEqual(['sandbox.expired', 'sandbox.unknown']);
    // Meeting the end of the registration has cut what was open.
    await wire.rest();
    expect((await gateway.admin('GET', `/internal/containers/${id}`)).status).toBe(404);
  });
});
