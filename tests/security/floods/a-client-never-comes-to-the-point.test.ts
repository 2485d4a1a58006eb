// Slow-loris: connections, handshakes and heads that are begun and never ended hold no place for longer than a head may
// take. Every case dribbles on until the door ends it.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
import { eventually } from '../../support/eventually.ts';
import { type LoopbackNetwork, openLoopbackNetwork } from '../../support/loopback-network.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { FramePeer } from '../../support/raw-http2.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../../support/recording-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { openTls, openTunnel } from '../../support/tunnel-client.ts';

const host = 'api.example';
const good = `GET /fine HTTP/1.1\r\nHost: ${host}\r\n`;
let gateway: LoopbackNetwork;
let upstream: RecordingUpstream;
let privateSocket: string;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRecordingUpstream(ca.issue([host]));
  gateway = await openLoopbackNetwork(68, {
    allow: [{ host }, { host: 'pinned.example', tunnel: true }],
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
    limits: { client_head_timeout_ms: 2_000 },
  });
  await gateway.register();
  const registered = await gateway.register({ proof: ['socket'] });
  privateSocket = (registered.grant as { socket: string }).socket;
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const atTheDoor = async (): Promise<Socket> => connected(connect(gateway.port, gateway.host));
const onAPrivateSocket = async (): Promise<Socket> => connected(connect(privateSocket));
const onTheNetwork = async (port: number): Promise<Socket> =>
  connected(connect({ host: gateway.door, port, localAddress: gateway.sandbox }));
const insideTls = (alpn = 'http/1.1'): Promise<Socket> =>
  openTls(gateway, `${host}:443`, { caPath: gateway.caPath, alpn: [alpn] });

async function connected(socket: Socket): Promise<Socket> {
  await once(socket, 'connect');
  return socket;
}

/** Sends byte after byte, and begins anew when there are none left, until the door ends it; gives what came back. */
async function dribble(socket: Socket, text: string): Promise<string> {
  let answer = '';
  let at = 0;
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
  });
  const timer = setInterval(() => {
    if (text === '' || socket.destroyed || !socket.writable) return;
    socket.write(text[at] ?? 'x', 'latin1');
    at++;
  }, 40);
  socket.resume();
  try {
    await eventually(() => socket.readableEnded || socket.destroyed, 'the door ends it');
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
  return answer;
}

const hello = clientHelloBytes({ names: [host] }).toString('latin1');

const heads: readonly (readonly [string, () => Promise<Socket>])[] = [
  ['at the door', atTheDoor],
  ['on a private socket', onAPrivateSocket],
  ['inside TLS', insideTls],
  ['inside TLS, the second head of a connection', secondHead],
  ['on the internal network, in clear', () => onTheNetwork(80)],
  ['behind a CONNECT, in clear', () => openTunnel(gateway, `${host}:443`)],
];

test('a head that dribbles in is answered and closed, and written down once', async () => {
  const answers = await Promise.all(
    heads.map(async ([where, open]) => {
      const answer = await dribble(await open(), good);
      return [where, answer.includes('HTTP/1.1 400') && answer.includes('limits.client_head_timeout_ms')];
    }),
  );
  expect(answers).toEqual(heads.map(([where]) => [where, true]));
  const records = (await gateway.journal()).filter(({ code }) => code === 'client.timeout');
  expect(records).toHaveLength(heads.length);
});

async function secondHead(): Promise<Socket> {
  const socket = await insideTls();
  socket.write(`${good}\r\n`);
  await once(socket, 'data');
  return socket;
}

test('what never becomes a head is closed without a word', async () => {
  const h2 = async (): Promise<Socket> => new FramePeer(await insideTls('h2'), false).socket;
  const cases: readonly (readonly [string, Promise<Socket>, string])[] = [
    ['nothing at the door', atTheDoor(), ''],
    ['nothing on a private socket', onAPrivateSocket(), ''],
    ['nothing on the internal network', onTheNetwork(443), ''],
    ['nothing inside TLS', insideTls(), ''],
    ['nothing behind a CONNECT', openTunnel(gateway, `${host}:443`), ''],
    ['a handshake that dribbles in', openTunnel(gateway, `${host}:443`), hello],
    ['a handshake that dribbles in on the internal network', onTheNetwork(443), hello],
    ['a handshake of a tunnel', openTunnel(gateway, 'pinned.example:443'), hello],
    ['half a handshake', halfHandshake(), ''],
    ['HTTP/2 without a request', h2(), ''],
  ];
  const answers = await Promise.all(
    cases.map(async ([what, open, text]) => [what, (await dribble(await open, text)).includes('HTTP/1.1')] as const),
  );
  expect(answers).toEqual(cases.map(([what]) => [what, false]));
});

/** A whole ClientHello, and then nothing. */
async function halfHandshake(): Promise<Socket> {
  const socket = await openTunnel(gateway, `${host}:443`);
  socket.write(hello, 'latin1');
  return socket;
}

test('meanwhile others are served, and a connection that has asked before may be quiet', async () => {
  const quiet = await secondHead();
  const loris = Promise.all(Array.from({ length: 10 }, async () => dribble(await insideTls(), good)));
  const answer = await sendTunnelled(gateway, host, `${good}Connection: close\r\n\r\n`);
  expect(answer.statuses).toEqual([200]);
  await loris;
  quiet.write(`${good}\r\n`);
  const [chunk] = (await once(quiet, 'data')) as [Buffer];
  expect(chunk.toString()).toContain('HTTP/1.1 200');
  quiet.destroy();
});
