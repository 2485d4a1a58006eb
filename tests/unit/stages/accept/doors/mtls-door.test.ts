import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../../../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../../support/fake-upstream.ts';
import { askPlainly, connectInside, dialMtls, tlsInside } from '../../../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../../../support/mtls-ground.ts';
import { type ServeConnection, startRawUpstream } from '../../../../support/raw-upstream.ts';
import { settle } from '../../../../support/settle.ts';
import { makeTestCa } from '../../../../support/test-ca.ts';
import { askHttp2 } from '../../../../support/tunnel-client.ts';
import { Wire } from '../../../../support/wire.ts';

const farCa = makeTestCa();
let upstream: FakeUpstream;
let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, ['far.example', 'pinned.example']);
  const sockets = new WebSocketServer({ noServer: true });
  upstream.server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (far) =>
      far.on('message', (data, isBinary) => far.send(data, { binary: isBinary })),
    );
  });
  ground = await openMtlsGround({ address: upstream.address, rootPath: farCa.path });
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});

afterAll(async () => {
  await ground.stop();
  await upstream.close();
});

const request = 'GET /x HTTP/1.1\r\nHost: far.example\r\n\r\n';

async function tunnelTo(authority: string): Promise<TLSSocket> {
  return connectInside(await dialMtls(ground.port, sandbox, { trusted }), authority);
}

async function openInside(alpn: string): Promise<TLSSocket> {
  return tlsInside(await tunnelTo('far.example:443'), 'far.example', ground.interceptionCa.certificatePem, alpn);
}

describe('inside its TLS the mTLS door is the explicit proxy door', () => {
  test('HTTP/1.1 in TLS behind a CONNECT, one request after the other', async () => {
    const wire = new Wire(await openInside('http/1.1'));
    for (let i = 0; i < 3; i++) {
      wire.send(request);
      const { head, body } = await wire.answer();
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      expect(JSON.parse(body)).toMatchObject({ url: '/x' });
    }
    expect(ground.journal.at(-1)).toMatchObject({
      sandbox: 'one',
      door: 'mtls 127.0.0.1:0',
      proof: ['mtls'],
      verdict: 'allowed',
    });
    wire.socket.destroy();
  });

  test('HTTP/2 in TLS behind a CONNECT, many requests at once', async () => {
    const socket = await openInside('h2');
    const session = connectHttp2('https://far.example', { createConnection: () => socket });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => askHttp2(session, { ':path': `/${i}`, ':method': 'POST' }, `body ${i}`)),
    );
    for (const [i, answer] of answers.entries()) {
      expect(JSON.parse(answer.body.toString())).toMatchObject({ url: `/${i}`, body: `body ${i}` });
    }
    session.destroy();
  });

  test('a WebSocket', async () => {
    const socket = await openInside('http/1.1');
    const client = new WebSocket('wss://far.example/live', { createConnection: () => socket });
    await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject));
    const echoed = new Promise((resolve) => client.once('message', (data: Buffer) => resolve(data.toString())));
    client.send('hello');
    expect(await echoed).toBe('hello');
    client.terminate();
  });

  test('a tunnel, in which the client sees the certificate of the far side', async () => {
    const outer = await tunnelTo('pinned.example:443');
    const wire = new Wire(await tlsInside(outer, 'pinned.example', readFileSync(farCa.path, 'utf8')));
    wire.send('GET /pinned HTTP/1.1\r\nHost: pinned.example\r\n\r\n');
    expect((await wire.answer()).head).toMatch(/^HTTP\/1\.1 200 /);
    wire.socket.destroy();
  });

  test('a CONNECT whose ClientHello comes in the same flight', async () => {
    const outer = await dialMtls(ground.port, sandbox, { trusted });
    const bytes: Buffer[] = [];
    // The first flight of a TLS client, written behind the CONNECT before it is answered.
    const flight = new Promise<Buffer>((resolve) => {
      const sink = new Duplex({
        read() {},
        write(chunk: Buffer, _encoding, done) {
          bytes.push(chunk);
          done();
          resolve(Buffer.concat(bytes));
        },
      });
      void tlsInside(sink as never, 'far.example', trusted).catch(() => {});
    });
    const wire = new Wire(outer);
    outer.cork();
    outer.write('CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n\r\n');
    outer.write(await flight);
    outer.uncork();
    await wire.until('\r\n\r\n');
    // TLS 1.3: a ServerHello comes back, in a handshake record.
    expect((await wire.bytes(3)).startsWith('\x16\x03\x03')).toBe(true);
    outer.destroy();
  });

  test('a refusal is in words', async () => {
    const outer = await tunnelTo('other.example:443');
    const wire = new Wire(await tlsInside(outer, 'other.example', ground.interceptionCa.certificatePem));
    wire.send('GET / HTTP/1.1\r\nHost: other.example\r\n\r\n');
    const { head, body } = await wire.answer();
    expect(head).toMatch(/^HTTP\/1\.1 403 /);
    expect(JSON.parse(body)).toMatchObject({ code: 'domain.not-allowed' });
    wire.socket.destroy();
  });
});

describe('an answer that breaks off', () => {
  const breaking: ServeConnection = async ({ wire, socket, reset }) => {
    await wire.until('\r\n\r\n');
    socket.write('HTTP/1.1 200 OK\r\n\r\nhalf', () => void settle(50).then(reset));
  };

  test.each(['tls', 'plain'])('is reset all the way where only its end would tell: %s', async (how) => {
    const far = await startRawUpstream({
      tls: how === 'tls' ? { ca: farCa, names: ['far.example'] } : null,
      serve: breaking,
    });
    const other = await openMtlsGround({ address: far.address, rootPath: farCa.path });
    const known = await other.register({ id: 'one', proof: ['mtls'] });
    const outer = await dialMtls(other.port, known, { trusted: other.identityCa.certificatePem });
    const pem = other.interceptionCa.certificatePem;
    const wire = new Wire(
      how === 'tls' ? await tlsInside(await connectInside(outer, 'far.example:443'), 'far.example', pem) : outer,
    );
    wire.send(
      how === 'tls'
        ? 'GET / HTTP/1.1\r\nHost: far.example\r\n\r\n'
        : 'GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n',
    );
    const errors: string[] = [];
    wire.socket.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code ?? error.message));
    await wire.until('half');
    await wire.rest();
    expect(errors).toEqual(['ECONNRESET']);
    await other.stop();
    await far.close();
  });
});

describe('the door keeps itself in order', () => {
  test('a probe that says nothing leaves no record', async () => {
    await eventually(() => ground.connections.size === 0, 'all is closed');
    const records = ground.journal.length;
    const socket = connectTcp(ground.port, '127.0.0.1');
    await eventually(() => ground.connections.size === 1, 'it is counted while it says nothing');
    socket.destroy();
    await eventually(() => ground.connections.size === 0, 'it is gone');
    expect(ground.journal).toHaveLength(records);
  });

  test('a connection is counted once, from its first byte on', async () => {
    const socket = await dialMtls(ground.port, sandbox, { trusted });
    const wire = new Wire(socket);
    wire.send('GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n');
    await wire.answer();
    expect([...ground.connections].map(({ sandboxId, address }) => [sandboxId, address])).toEqual([
      ['one', '127.0.0.1'],
    ]);
    socket.destroy();
    await eventually(() => ground.connections.size === 0, 'it is gone');
  });

  test('over the limit nobody is let in, with or without a certificate', async () => {
    ground.maxConnections = 1;
    const kept = await dialMtls(ground.port, sandbox, { trusted });
    try {
      await eventually(() => [...ground.connections].some(({ sandboxId }) => sandboxId === 'one'), 'it is in');
      expect(await askPlainly(ground.port, sandbox, { trusted })).toBe('closed');
      expect(await askPlainly(ground.port, null, { trusted })).toBe('closed');
    } finally {
      ground.maxConnections = 1024;
      kept.destroy();
    }
  });

  test('a client that speaks another protocol inside is told so in the handshake', async () => {
    await expect(dialMtls(ground.port, sandbox, { trusted, alpn: 'h2' })).rejects.toThrow(/no application protocol/i);
  });

  test('a client that does not trust the door is written down with the reason', async () => {
    await expect(dialMtls(ground.port, sandbox, { trusted: ground.interceptionCa.certificatePem })).rejects.toThrow();
    await eventually(() => ground.journal.at(-1)!.code === 'malformed.tls', 'it is written down');
    expect(ground.journal.at(-1)!.reason).toMatch(/^the TLS handshake with a client of the mTLS door failed: from 127/);
  });
});

describe('a gateway runs for months', () => {
  test("the door's certificate is replaced before it ends, and asks no less of clients", async () => {
    const other = await openMtlsGround();
    const known = await other.register({ id: 'one', proof: ['mtls'] });
    const options = { trusted: other.identityCa.certificatePem };
    const before = new Wire(await dialMtls(other.port, known, options));
    const serialShown = async (): Promise<string> => {
      // Days ahead of the clock that checks it.
      const socket = await dialMtls(other.port, known, { ...options, rejectUnauthorized: false });
      const { serialNumber } = socket.getPeerX509Certificate()!;
      socket.destroy();
      return serialNumber;
    };
    const first = await serialShown();
    other.clock.aheadMs = 5.5 * 86_400_000;
    expect(await serialShown()).toBe(first);
    other.clock.aheadMs = 6.5 * 86_400_000;
    const second = await serialShown();
    expect(second).not.toBe(first);
    expect(await serialShown()).toBe(second);
    expect(await askPlainly(other.port, null, { ...options, rejectUnauthorized: false })).toBe('closed');
    expect(other.journal.at(-1)!.code).toBe('sandbox.proof-missing');
    other.clock.aheadMs = 0;
    before.send('GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n');
    expect((await before.answer()).head).toMatch(/^HTTP\/1\.1 502 /);
    await other.stop();
  });

  test("the door's certificate is replaced when the clock that it was made by turns out to have been ahead", async () => {
    const other = await openMtlsGround();
    const known = await other.register({ id: 'one', proof: ['mtls'] });
    const options = { trusted: other.identityCa.certificatePem };
    other.clock.aheadMs = 30 * 86_400_000;
    await expect(dialMtls(other.port, known, options)).rejects.toThrow(/not yet valid/);
    other.clock.aheadMs = 0;
    (await dialMtls(other.port, known, options)).destroy();
    await other.stop();
  });
});
