import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFarGateway } from '../support/far-gateway.ts';
import { type RawUpstream, type ServeConnection, startRawUpstream } from '../support/raw-upstream.ts';
import { runClient, startClient } from '../support/run-client.ts';
import { settle } from '../support/settle.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
let upstream: RawUpstream;
let gateway: TestGateway;
let serve: ServeConnection;

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

// An upstream that fails again and again is left alone: every attempt here begins anew.
beforeEach(() => gateway.gateway.reload());

/** The far side says this and closes: in good order, or with a reset. */
function says(text: string, how: 'close' | 'reset' = 'close'): ServeConnection {
  return async ({ wire, socket, reset }) => {
    await wire.until('\r\n\r\n');
    socket.write(text, () => {
      if (how === 'close') socket.end();
      // A moment, so that what was said has arrived before the reset overtakes it.
      else void settle(50).then(reset);
    });
  };
}

function curl(version: string, ...more: string[]) {
  return runClient('curl', [
    ...['-sS', '-m', '30', version, '-x', gateway.proxyUrl, '--cacert', gateway.caPath, `https://${host}/`, ...more],
  ]);
}

const broken = [
  ['a length that is not reached', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', 'close'],
  ['a length that is not reached, then a reset', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', 'reset'],
  ['chunks without the last', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n', 'close'],
  ['a chunk cut in two', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf', 'close'],
  ['no length, then a reset', 'HTTP/1.1 200 OK\r\n\r\nhalf', 'reset'],
  ['chunks that are none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnot a size\r\n', 'close'],
] as const;

describe('an answer that breaks off is an error for the client', () => {
  test.each(broken)('%s: over HTTP/1.1', async (_what, text, how) => {
    serve = says(text, how);
    const run = await curl('--http1.1');
    expect(['half', '']).toContain(run.stdout);
    expect(run.code).not.toBe(0);
  });

  test.each(broken)('%s: over HTTP/2', async (_what, text, how) => {
    serve = says(text, how);
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    await expect(askHttp2(session, { ':path': '/' })).rejects.toThrow();
    session.destroy();
  });

  test('the journal says that they failed', async () => {
    const records = await gateway.journal();
    expect(records).toHaveLength(broken.length * 2);
    expect(new Set(records.map((record) => record.verdict))).toEqual(new Set(['failed']));
  });
});

describe('an answer that ends with its connection', () => {
  const whole = says('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it');

  test.each(['--http1.1', '--http2'])(
    'arrives whole when the connection ends in good order: curl %s',
    async (version) => {
      serve = whole;
      const run = await curl(version);
      expect(run.stderr).toBe('');
      expect(run).toMatchObject({ code: 0, stdout: 'all of it' });
    },
  );
});

describe('an answer that never properly begins is a 502 in words', () => {
  test.each([
    ['nothing at all', '', 'upstream.closed'],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le', 'upstream.closed'],
    ['something else', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 'upstream.protocol'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 'upstream.protocol'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'upstream.protocol',
    ],
    ['an upgrade that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'upstream.protocol'],
  ])('%s', async (_what, text, code) => {
    serve = says(text);
    for (const version of ['--http1.1', '--http2']) {
      const run = await curl(version, '-w', '\n%{http_code}');
      const [body, status] = run.stdout.split(/\n+/) as [string, string];
      expect(status).toBe('502');
      expect(JSON.parse(body)).toMatchObject({ code });
    }
  });
});

describe('a client that goes away', () => {
  test.each(['--http1.1', '--http2'])('cancels the request at the far side: curl %s', async (version) => {
    let far: Socket | null = null;
    serve = async ({ wire, socket }) => {
      await wire.until('\r\n\r\n');
      wire.send('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbeginning');
      far = socket;
    };
    const client = startClient('curl', [
      ...['-sSN', version, '-x', gateway.proxyUrl, '--cacert', gateway.caPath, `https://${host}/`],
    ]);
    await client.stdout.until('beginning');
    client.kill();
    await eventually(() => far?.destroyed, 'the connection to the far side is closed');
    await client.ended;
    expect((await gateway.journal()).at(-1)).toMatchObject({ verdict: 'abandoned' });
  });

  test('while it still uploads takes the request with it: the far side never sees its end', async () => {
    let got = '';
    let isOver = false;
    serve = async ({ wire }) => {
      got = await wire.until('hello');
      got += await wire.rest();
      isOver = true;
    };
    const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
    new Wire(socket).send(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    await eventually(() => got, 'the far side has the beginning');
    socket.destroy();
    await eventually(() => isOver, 'the far side hears that it was broken off');
    expect(got.endsWith('hello\r\n')).toBe(true);
  });
});
