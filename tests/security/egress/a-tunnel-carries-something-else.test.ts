import { createServer, type Server } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
import { eventually } from '../../support/eventually.ts';
import { sendBare, sendPlain } from '../../support/raw-client.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../../support/recording-upstream.ts';
import { makeTestCa, type TestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTunnel } from '../../support/tunnel-client.ts';

let ca: TestCa;
let pinned: RecordingUpstream;
let gateway: TestGateway;
let bare: Server;
let bareBytes = '';

beforeAll(async () => {
  ca = makeTestCa();
  pinned = await startRecordingUpstream(ca.issue(['pinned.example']));
  // The same place without TLS: it sees the first byte of whatever is let through.
  bare = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      bareBytes += chunk.toString('latin1');
    });
  });
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
  const { port } = bare.address() as { port: number };
  gateway = await startTestGateway({
    allow: [{ host: 'pinned.example', tunnel: true }, { host: 'bare.example', tunnel: true }, { host: 'read.example' }],
    upstream: {
      resolve: {
        'pinned.example': pinned.address,
        'bare.example': `127.0.0.1:${port}`,
        'read.example': `127.0.0.1:${port}`,
      },
      ca: ca.path,
    },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await pinned.close();
  bare.close();
});

beforeEach(() => {
  bareBytes = '';
});

async function lastCode(): Promise<unknown> {
  return (await gateway.journal()).at(-1)?.code;
}

const accessDenied = '\x15\x03\x01\x00\x02\x02\x31';

describe('an undecrypted tunnel carries a handshake for its own host, in the clear, or nothing', () => {
  test.each<[string, Buffer, string]>([
    ['another name', clientHelloBytes({ names: ['elsewhere.example'] }), 'tunnel.sni'],
    ['a name that ends the same', clientHelloBytes({ names: ['xbare.example'] }), 'tunnel.sni'],
    ['no name', clientHelloBytes({ names: [] }), 'tunnel.sni'],
    [
      'an encrypted name beside the right one',
      clientHelloBytes({ names: ['bare.example'], ech: true }),
      'tunnel.hidden-name',
    ],
    [
      'two names in two extensions',
      clientHelloBytes({ names: ['bare.example', 'elsewhere.example'] }),
      'malformed.tls',
    ],
    [
      'two names in one extension',
      clientHelloBytes({ names: ['bare.example'], second: 'elsewhere.example' }),
      'malformed.tls',
    ],
    ['a name with a NUL', clientHelloBytes({ names: ['bare.example\0.elsewhere.example'] }), 'tunnel.sni'],
    ['a name cut short', clientHelloBytes({ names: ['bare.example'] }).subarray(0, -3), 'more'],
    ['a hello that is none', Buffer.from([0x16, 3, 1, 0, 4, 2, 0, 0, 0]), 'malformed.tls'],
    ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: bare.example\r\n\r\n'), 'tunnel.sni'],
    ['SSH', Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'), 'tunnel.sni'],
  ])('%s', async (_what, bytes, code) => {
    const answer = await sendBare(gateway, 'bare.example:443', bytes, { waitMs: code === 'more' ? 100 : 5_000 });
    expect(bareBytes).toBe('');
    if (code === 'more') return expect(answer.text).toBe('');
    expect(answer.text).toBe(accessDenied);
    expect(await lastCode()).toBe(code);
  });

  test('the right name passes untouched, also in records of a few bytes and in another case', async () => {
    for (const hello of [
      clientHelloBytes({ names: ['bare.example'] }),
      clientHelloBytes({ names: ['Bare.Example'] }),
      clientHelloBytes({ names: ['bare.example'], recordBytes: 7 }),
    ]) {
      bareBytes = '';
      const socket = await openTunnel(gateway, 'bare.example:443');
      socket.resume();
      socket.write(hello);
      const whole = hello.toString('latin1');
      await eventually(() => bareBytes.length >= whole.length, 'the hello arrives');
      expect(bareBytes).toBe(whole);
      socket.destroy();
    }
  });

  test('a real handshake through it ends at the upstream itself', async () => {
    const socket = await openTunnel(gateway, 'pinned.example:443');
    const tls = connectTls({ socket, servername: 'pinned.example', rejectUnauthorized: false });
    await new Promise((resolve) => tls.once('secureConnect', resolve));
    expect(tls.getPeerCertificate().subject.CN).toBe('leaf');
    tls.destroy();
  });
});

describe('a CONNECT opens what the rules name, not any port of it', () => {
  test.each([
    ['pinned.example:22', 'target.port'],
    ['read.example:22', 'target.port'],
    ['read.example:25', 'target.port'],
    ['elsewhere.example:22', 'domain.not-allowed'],
    ['read.example:8443', 'target.port'],
  ])('CONNECT %s', async (authority, code) => {
    const request = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;
    const answer = await sendPlain(gateway, request);
    expect([answer.statuses, answer.code]).toEqual([[403], code]);
    expect(bareBytes).toBe('');
  });

  test('plain HTTP to the TLS port of an allowed host', async () => {
    const request = 'GET / HTTP/1.1\r\nHost: read.example\r\nConnection: close\r\n\r\n';
    const answer = await sendBare(gateway, 'read.example:443', request);
    expect([answer.statuses, answer.code]).toEqual([[403], 'domain.plain-http']);
    expect(bareBytes).toBe('');
  });

  test('another protocol to the TLS port of an allowed host', async () => {
    const answer = await sendBare(gateway, 'read.example:443', 'SSH-2.0-OpenSSH_9.2\r\n');
    expect([answer.statuses, answer.code]).toEqual([[400], 'malformed.syntax']);
    expect(bareBytes).toBe('');
  });

  test('a host that is not named at all is told so inside the connection', async () => {
    const request = 'GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n';
    const answer = await sendBare(gateway, 'elsewhere.example:80', request);
    expect([answer.statuses, answer.code]).toEqual([[403], 'domain.not-allowed']);
  });
});
