import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { endStream, type FrameUpstream, headersFrame, startFrameUpstream } from '../../support/raw-http2.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { askHttp2, type Door, openHttp2, openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

// One sandbox does all it can to have an upstream left alone; another must not notice.

const often = 8;
let upstream: RawUpstream;
let onlyH2: FrameUpstream;
let gateway: TestGateway;
let attacker: Door;
let other: Door;
let asked = 0;
let abandoned = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: ['shared.example'] },
    // Breaks off at what it does not like, waits where it has to think, and answers everything else.
    serve: async ({ wire, socket, reset }) => {
      socket.on('close', () => abandoned++);
      for (;;) {
        const head = await wire.until('\r\n\r\n');
        asked++;
        if (head.startsWith('GET /crash')) reset();
        else if (head.startsWith('GET /garbage')) wire.send('not HTTP at all\r\n\r\n');
        else if (!head.startsWith('GET /slow')) wire.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      }
    },
  });
  onlyH2 = await startFrameUpstream(ca, ['modern.example']);
  onlyH2.answerWith((stream, peer) => peer.send(headersFrame(stream, [[':status', '200']], endStream)));
  gateway = await startTestGateway({
    allow: [{ host: 'shared.example', methods: ['GET'] }, { host: ['modern.example', 'localhost'] }],
    limits: { headers_timeout_ms: 1_000 },
    upstream: {
      resolve: { 'shared.example': upstream.address, 'modern.example': onlyH2.address },
      ca: ca.path,
    },
  });
  attacker = await sandbox();
  other = await sandbox();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  await onlyH2.close();
});

beforeEach(() => gateway.gateway.reload());

async function sandbox(): Promise<Door> {
  const { grant } = await gateway.register({ proof: ['socket'] });
  return { socketPath: (grant as { socket: string }).socket };
}

async function ask(door: Door, path: string, host = 'shared.example', method = 'GET'): Promise<string> {
  const wire = new Wire(await openTls(door, `${host}:443`, { caPath: gateway.caPath }));
  wire.send(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const { head, body } = await wire.answer();
  wire.socket.destroy();
  const status = head.split(' ', 2)[1]!;
  return status === '200' ? 'ok' : (JSON.parse(body) as { code: string }).code;
}

async function askOften(path: string, host?: string, method?: string): Promise<string[]> {
  const outcomes: string[] = [];
  for (let i = 0; i < often; i++) outcomes.push(await ask(attacker, path, host, method));
  return outcomes;
}

const shut = 'upstream.circuit-open';

describe('a sandbox cannot have an upstream left alone for another', () => {
  test.each([
    ['/crash', 'upstream.closed'],
    ['/garbage', 'upstream.protocol'],
  ])('by requests that make it fail (%s): only its own are refused', async (path, code) => {
    for (let i = 0; i < 5; i++) expect(await ask(attacker, path)).toBe(code);
    // All at once: should one come so late that it may try, the others are refused all the same.
    const next = await Promise.all([1, 2, 3].map(() => ask(attacker, path)));
    expect(next).toContain(shut);
    for (let i = 0; i < 3; i++) expect(await ask(other, '/')).toBe('ok');
  });

  test('by requests that it leaves half-way: not even its own are', async () => {
    for (let i = 0; i < often; i++) {
      const before = { asked, abandoned };
      const wire = new Wire(await openTls(attacker, 'shared.example:443', { caPath: gateway.caPath }));
      wire.send('GET /slow HTTP/1.1\r\nHost: shared.example\r\n\r\n');
      await eventually(() => asked > before.asked, 'it is asked');
      wire.socket.destroy();
      await eventually(() => abandoned > before.abandoned, 'it is left');
    }
    expect([await ask(attacker, '/'), await ask(other, '/')]).toEqual(['ok', 'ok']);
  });

  test('by bodies that never come: the time that runs out is its own', async () => {
    const session = await openHttp2(attacker, 'modern.example', { caPath: gateway.caPath });
    onlyH2.answerWith(() => {});
    const late = await Promise.all(
      Array.from({ length: often }, () => {
        const stream = session.request({ ':method': 'POST' });
        stream.on('error', () => {});
        return new Promise<unknown>((resolve) => {
          stream.on('response', (fields) => resolve(fields['x-sallyport-refused']));
          stream.on('close', () => resolve('closed'));
        });
      }),
    );
    session.destroy();
    expect(new Set(late)).toEqual(new Set(['client.timeout']));
    onlyH2.answerWith((stream, peer) => peer.send(headersFrame(stream, [[':status', '200']], endStream)));
    for (const door of [attacker, other]) {
      const again = await openHttp2(door, 'modern.example', { caPath: gateway.caPath });
      expect((await askHttp2(again, { ':path': '/' })).headers[':status']).toBe(200);
      again.destroy();
    }
  });

  test('by requests that are refused', async () => {
    expect(new Set(await askOften('/', 'shared.example', 'DELETE'))).toEqual(new Set(['method.not-allowed']));
    expect(new Set(await askOften('/', 'localhost'))).toEqual(new Set(['upstream.address-refused']));
    expect([await ask(attacker, '/'), await ask(other, '/')]).toEqual(['ok', 'ok']);
    expect(await ask(other, '/', 'localhost')).toBe('upstream.address-refused');
  });

  test('by asking for a protocol that it does not speak', async () => {
    expect(new Set(await askOften('/', 'modern.example'))).toEqual(new Set(['upstream.connect']));
    const session = await openHttp2(other, 'modern.example', { caPath: gateway.caPath });
    expect((await askHttp2(session, { ':path': '/' })).headers[':status']).toBe(200);
    session.destroy();
  });
});
