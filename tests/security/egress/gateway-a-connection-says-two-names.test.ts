// Must not happen: at a door where every name has the same address, a connection is judged by one name or port and goes to
// another, or by none at all.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type LoopbackNetwork, openLoopbackNetwork, refusalIn } from '../../support/loopback-network.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const host = 'api.example.com';
const other = 'other.example.com';
const farCa = makeTestCa();
let upstream: FakeUpstream;
let network: LoopbackNetwork;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host, other]);
  network = await openLoopbackNetwork(3, {
    allow: [
      { host, plain_http: true, ports: [80, 443, 8443] },
      { host: other, ports: [443] },
    ],
    upstream: { resolve: { [host]: upstream.address, [other]: upstream.address }, ca: farCa.path },
  });
});

afterAll(async () => {
  await network.stop();
  await upstream.close();
});

const get = (target: string, named: string): string => `GET ${target} HTTP/1.1\r\nHost: ${named}\r\n\r\n`;

async function refused(request: string, way?: { sni?: string | null; port?: number }): Promise<string> {
  return refusalIn(await network.send(network.sandbox, request, way));
}

describe('over TLS', () => {
  const way = { sni: host };

  test.each([
    ['another host', get('/', other)],
    ['another port', get('/', `${host}:8443`)],
    ['a dot behind the name', get('/', `${host}.`)],
    ['another host in the request line', get(`https://${other}/`, host)],
    ['another scheme in the request line', get(`http://${host}/`, host)],
    ['two hosts', `GET / HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\n\r\n`],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a CONNECT, as if this were a proxy', `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`],
  ])('%s is refused', async (_what, request) => {
    expect(await refused(request, way)).toMatch(/^400 (mismatch|malformed)\./);
  });

  test('an address as Host, and a handshake that names no host, are refused in words', async () => {
    expect(await refused(get('/', network.door), way)).toBe('403 target.literal-address');
    expect(await refused(get('/', host), { sni: null })).toBe('403 target.literal-address');
  });

  test('on HTTP/2 every request is held to the name of the handshake', async () => {
    const tcp = connectTcp({ host: network.door, port: 443, localAddress: network.sandbox });
    const socket = connectTls({
      socket: tcp,
      servername: host,
      ca: readFileSync(network.caPath, 'utf8'),
      ALPNProtocols: ['h2'],
    });
    await once(socket, 'secureConnect');
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    const statusOf = async (authority: string): Promise<unknown> => {
      const stream = session.request({ ':path': '/h2', ':authority': authority });
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      stream.resume();
      return headers[':status'];
    };
    expect([await statusOf(other), await statusOf(network.door), await statusOf(`${host}:8443`)]).toEqual([
      400, 403, 400,
    ]);
    expect(await statusOf(host)).toBe(200);
    session.destroy();
    expect(upstream.seen.splice(0).map(({ url }) => url)).toEqual(['/h2']);
  });
});

describe('in the clear', () => {
  test.each([
    ['the port of another service', get('/', `${host}:443`), '400 mismatch.authority'],
    ['another host in the request line', get(`http://${other}/`, host), '400 mismatch.authority'],
    ['another scheme in the request line', get(`https://${host}/`, host), '400 mismatch.authority'],
    ['another port in the request line', get(`http://${host}:8443/`, host), '400 mismatch.authority'],
    ['a host that must not be reached in the clear', get('/', other), '403 domain.plain-http'],
    ['a host that is not allowed', get('/', 'evil.example'), '403 domain.not-allowed'],
    ['an address', get('/', '203.0.113.5'), '403 target.literal-address'],
    ['the address of the door', get('/', '127.81.3.1'), '403 target.literal-address'],
    ['a CONNECT', `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`, '400 malformed.syntax'],
  ])('%s is refused', async (_what, request, expected) => {
    expect(await refused(request)).toBe(expected);
  });

  test('an absolute form that says the same passes for what it is', async () => {
    const answer = await network.send(network.sandbox, get(`http://${host}/same`, host));
    // The far side speaks TLS only: what counts is that it was judged as this and no other place.
    expect(refusalIn(answer)).toMatch(/^502 /);
    const record = (await network.journal()).find((one) => one.path === '/same');
    expect(record).toMatchObject({ host, port: 80, scheme: 'http', destination: `${network.door}:80` });
  });
});

test('nothing of all this reached a host', () => {
  expect(upstream.seen).toEqual([]);
});
