import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFarGateway } from '../support/far-gateway.ts';
import {
  type FarConnection,
  type RawUpstream,
  type ServeConnection,
  startRawUpstream,
} from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
let upstream: RawUpstream;
let gateway: TestGateway;
let serve: ServeConnection;

/** Answers every request with its own path. */
const echoPaths: ServeConnection = async ({ wire }) => {
  for (;;) {
    const { head } = await wire.answer();
    const path = head.split(' ', 2)[1]!;
    wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`);
  }
};

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: (connection) => serve(connection),
  });
  gateway = await startFarGateway(ca, { [host]: upstream });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

beforeEach(async () => {
  serve = echoPaths;
  // A reload closes what is kept: every story begins with a fresh connection.
  await gateway.gateway.reload();
});

async function open(): Promise<Wire> {
  return new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

describe('connections are kept and used again', () => {
  test('ten requests of one client are one connection to the far side', async () => {
    const before = upstream.connections;
    const urls = Array.from({ length: 10 }, (_, i) => `https://${host}/number/${i}`);
    const run = await runClient('curl', [
      ...['-sS', '-m', '30', '--http1.1', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, ...urls],
    ]);
    expect(run.stdout).toBe(urls.map((url) => new URL(url).pathname).join(''));
    expect(upstream.connections - before).toBe(1);
  });

  test('one that is in use at a reload serves its request, and the next one gets another', async () => {
    const before = upstream.connections;
    let asked: FarConnection | null = null as FarConnection | null;
    serve = async (connection) => {
      await connection.wire.answer();
      asked = connection;
    };
    const wire = await open();
    wire.send(get('/slow'));
    const first = await eventually(() => asked, 'the far side is asked');
    await gateway.gateway.reload();
    serve = echoPaths;
    first.wire.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
    // Should it be used again, it answers.
    Promise.resolve(echoPaths(first)).catch(() => {});
    expect((await wire.answer()).body).toBe('fine');
    wire.send(get('/next'));
    expect((await wire.answer()).body).toBe('/next');
    expect(upstream.connections - before).toBe(2);
  });

  test('ten clients one after the other are one connection too', async () => {
    const before = upstream.connections;
    for (let i = 0; i < 10; i++) {
      const wire = await open();
      wire.send(get(`/client/${i}`));
      expect((await wire.answer()).body).toBe(`/client/${i}`);
      wire.socket.destroy();
    }
    expect(upstream.connections - before).toBe(1);
  });

  test('requests sent without waiting are answered in their order', async () => {
    const wire = await open();
    const paths = Array.from({ length: 50 }, (_, i) => `/pipelined/${i}`);
    // One write, with a body in the middle: framing decides where the next request begins.
    wire.send(paths.slice(0, 25).map(get).join(''));
    wire.send(
      `POST /middle HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 18\r\n\r\nGET /no HTTP/1.1\r\n${paths.slice(25).map(get).join('')}`,
    );
    const answered: string[] = [];
    for (let i = 0; i < 51; i++) answered.push((await wire.answer()).body);
    expect(answered).toEqual([...paths.slice(0, 25), '/middle', ...paths.slice(25)]);
    wire.socket.destroy();
  });
});

describe('a kept connection that the far side closes', () => {
  /** Lets the first request be answered, then closes as soon as the second arrives, as a server does that was idle too long. */
  const closesOnSecond =
    (methods: string[]): ServeConnection =>
    async ({ wire, socket, number }) => {
      const first = await wire.answer();
      methods.push(`${number} ${first.head.split(' ', 1)[0]}`);
      wire.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=60\r\n\r\nok');
      const second = await wire.until('\r\n\r\n');
      methods.push(`${number} ${second.split(' ', 1)[0]} closed`);
      socket.destroy();
    };

  test('a GET is repeated and its client never knows', async () => {
    const methods: string[] = [];
    serve = closesOnSecond(methods);
    const wire = await open();
    wire.send(get('/one'));
    expect((await wire.answer()).body).toBe('ok');
    wire.send(get('/two'));
    const answer = await wire.answer();
    expect(answer.head.startsWith('HTTP/1.1 200 ')).toBe(true);
    expect(methods.map((text) => text.slice(2).trim())).toEqual(['GET', 'GET closed', 'GET']);
    wire.socket.destroy();
  });

  test('a POST is not sent twice: its client is told that it may have been carried out', async () => {
    const methods: string[] = [];
    serve = closesOnSecond(methods);
    const wire = await open();
    wire.send(get('/one'));
    await wire.answer();
    wire.send(`POST /two HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 3\r\n\r\nyes`);
    const answer = await wire.answer();
    expect(answer.head.startsWith('HTTP/1.1 502 ')).toBe(true);
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'upstream.closed' });
    expect(methods.filter((text) => text.includes('POST'))).toHaveLength(1);
    wire.socket.destroy();
  });

  test('one that was closed before is not used: GET and POST both pass', async () => {
    let closedConnections = 0;
    serve = async ({ wire, socket }) => {
      await wire.answer();
      wire.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      socket.end();
      socket.on('close', () => closedConnections++);
    };
    const wire = await open();
    for (const method of ['GET', 'POST', 'GET', 'POST']) {
      const before = closedConnections;
      wire.send(`${method} / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`);
      expect((await wire.answer()).body).toBe('ok');
      await eventually(() => closedConnections > before, 'the far side has closed');
    }
    wire.socket.destroy();
  });

  test('bytes that nobody asked for are never taken for the next answer', async () => {
    let closedConnections = 0;
    const separately = { now: false };
    serve = async ({ wire, socket, number }) => {
      socket.on('close', () => closedConnections++);
      await wire.answer();
      const mine = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${String(number).padStart(2)}`;
      const unasked = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned';
      if (separately.now) socket.write(mine, () => wire.send(unasked));
      else wire.send(mine + unasked);
      await wire.rest();
    };
    const wire = await open();
    for (separately.now of [false, true, false, true]) {
      const before = closedConnections;
      wire.send(get('/'));
      expect((await wire.answer()).body).toMatch(/^ ?\d+$/);
      await eventually(() => closedConnections > before, 'the connection that is out of step is closed');
    }
    wire.socket.destroy();
  });
});
