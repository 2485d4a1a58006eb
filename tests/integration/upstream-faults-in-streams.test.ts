import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { nobodyThere } from '../support/kept-port.ts';
import { endStream, type FrameUpstream, headersFrame, startFrameUpstream } from '../support/raw-http2.ts';
import { type FarConnection, type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { settle } from '../support/settle.ts';
import { makeTestCa, type TestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

// What goes wrong where there is no answer to wait for: WebSockets, tunnels, and streams that are never let begin.

let ca: TestCa;
let far: RawUpstream;
let pinned: RawUpstream;
let stingy: FrameUpstream;
let gateway: TestGateway;
const open = new Set<Socket>();
let script: (connection: FarConnection) => void = () => {};

beforeAll(async () => {
  ca = makeTestCa();
  const serve = async (connection: FarConnection): Promise<void> => {
    open.add(connection.socket);
    connection.socket.on('close', () => open.delete(connection.socket));
    await connection.wire.until('\r\n\r\n');
    script(connection);
  };
  far = await startRawUpstream({ tls: { ca, names: ['far.example'] }, serve });
  pinned = await startRawUpstream({ tls: { ca, names: ['pinned.example'] }, serve });
  stingy = await startFrameUpstream(ca, ['stingy.example']);
  gateway = await startTestGateway({
    allow: [{ host: ['far.example', 'stingy.example'] }, { host: ['pinned.example', 'gone.example'], tunnel: true }],
    limits: { headers_timeout_ms: 1_000, idle_timeout_ms: 1_000 },
    upstream: {
      resolve: {
        'far.example': far.address,
        'pinned.example': pinned.address,
        'stingy.example': stingy.address,
        'gone.example': nobodyThere,
      },
      ca: ca.path,
    },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([far, pinned, stingy].map((one) => one.close()));
});

async function lastRecord(host: string): Promise<Record<string, unknown>> {
  const find = async () => (await gateway.journal()).findLast((record) => record.host === host);
  return eventually(find, 'it is written down');
}

const upgraded =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n\r\n';
const upgrade =
  'GET / HTTP/1.1\r\nHost: far.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
const hello = '\x81\x05hello';

const breaks: [string, (connection: FarConnection) => void, object][] = [
  // What was said has to be there before the reset overtakes it.
  ['is reset', ({ reset }) => void settle(50).then(reset), { verdict: 'allowed' }],
  ['is closed', ({ socket }) => void setTimeout(() => socket.end(), 50), { verdict: 'allowed' }],
  ['falls silent', () => {}, { code: 'upstream.timeout' }],
];

describe('a WebSocket whose far side', () => {
  test.each(breaks)('%s ends for the client, and nothing is left', async (what, act, record) => {
    script = (connection) => {
      connection.wire.send(`${upgraded}${hello}`);
      act(connection);
    };
    const wire = new Wire(await openTls(gateway, 'far.example:443', { caPath: gateway.caPath }));
    wire.send(upgrade);
    expect(await wire.until('hello')).toMatch(/^HTTP\/1\.1 101 /);
    // What the gateway ends says why: Close 1011.
    const why = 'far.example sent no more of its answer for too long';
    const close = `\x88${String.fromCharCode(why.length + 2)}\x03\xf3${why}`;
    expect(await wire.rest()).toBe(what === 'falls silent' ? close : '');
    await eventually(() => open.size === 0, 'the far side is let go');
    expect(await lastRecord('far.example')).toMatchObject(record);
  });
});

describe('a tunnel whose far side', () => {
  test.each(breaks)('%s ends for the client, and nothing is left', async (_what, act, record) => {
    script = (connection) => {
      connection.wire.send('hello');
      act(connection);
    };
    const wire = new Wire(await openTls(gateway, 'pinned.example:443', { caPath: ca.path }));
    wire.send('anything\r\n\r\n');
    expect(await wire.until('hello')).toBe('hello');
    expect(await wire.rest()).toBe('');
    await eventually(() => open.size === 0, 'the far side is let go');
    expect(await lastRecord('pinned.example')).toMatchObject(record);
  });

  test('is not there is refused, and after five times nobody knocks any more', async () => {
    const knock = () => expect(openTls(gateway, 'gone.example:443', { caPath: ca.path })).rejects.toThrow();
    for (let i = 0; i < 5; i++) await knock();
    // At once: should one come so late that it may try, the other is refused all the same.
    await Promise.all([knock(), knock()]);
    const records = (await gateway.journal()).filter(({ host }) => host === 'gone.example');
    const codes = records.map(({ code }) => code);
    expect(codes.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'upstream.connect'));
    expect(codes.slice(5)).toContain('upstream.circuit-open');
  });
});

test('an HTTP/2 upstream that lets no stream begin is too slow, and is left for another connection', async () => {
  const noStreams = Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
  const connections = new Set<{ readonly closed: boolean }>();
  stingy.answerWith((stream, peer) => {
    const isFirst = connections.size === 0;
    connections.add(peer);
    // After its first answer it takes no more.
    peer.send(headersFrame(stream, [[':status', '200']], endStream), ...(isFirst ? [noStreams] : []));
  });
  const session = await openHttp2(gateway, 'stingy.example', { caPath: gateway.caPath });
  const ask = async () => (await askHttp2(session, { ':path': '/' })).headers[':status'];
  expect([await ask(), await ask(), await ask()]).toEqual([200, 504, 200]);
  expect(connections.size).toBe(2);
  const [first] = connections;
  await eventually(() => first!.closed, 'the connection that led nowhere is closed');
  session.destroy();
});
