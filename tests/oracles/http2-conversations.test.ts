// Our server of HTTP/2 against real clients: Node's and curl's (both nghttp2), h2load's with many streams, and python3-h2,
// which shares no code with them and refuses what breaks the protocol.
import { execFile } from 'node:child_process';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../support/seeded-random.ts';
import { type EchoServer, startEchoServer } from './http2-ground.ts';

const run = promisify(execFile);
let server: EchoServer;

beforeAll(async () => {
  server = await startEchoServer();
});

afterAll(() => server.stop());

interface Answer {
  readonly head: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders;
}

function ask(
  session: ClientHttp2Session,
  path: string,
  fields: Record<string, string>,
  body: readonly Buffer[],
  trailers: Record<string, string> | null,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body.length === 0 ? 'GET' : 'POST';
    const stream = session.request(
      { ':path': path, ':method': method, ...fields },
      { endStream: body.length === 0, waitForTrailers: trailers !== null },
    );
    let head: IncomingHttpHeaders = {};
    let last: IncomingHttpHeaders = {};
    const parts: Buffer[] = [];
    stream.on('wantTrailers', () => stream.sendTrailers(trailers ?? {}));
    stream.on('response', (got) => {
      head = got;
    });
    stream.on('trailers', (got: IncomingHttpHeaders) => {
      last = got;
    });
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('error', reject);
    stream.on('end', () => resolve({ head, body: Buffer.concat(parts), trailers: last }));
    for (const part of body) stream.write(part);
    if (body.length > 0) stream.end();
  });
}

describe("Node's client", () => {
  test('gets back what it sends: random heads, bodies, trailers, windows, tables, many at once', async () => {
    const { random } = seededRandom();
    const int = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
    const pick = (numbers: readonly number[]): number => numbers[int(0, numbers.length - 1)]!;
    for (let round = 0; round < 6; round++) {
      const session = connect(`http://127.0.0.1:${server.port}`, {
        settings: {
          initialWindowSize: pick([1, 1000, 65_535, 1_000_000]),
          headerTableSize: pick([0, 100, 4096, 65_536]),
          maxFrameSize: pick([16_384, 1_000_000]),
        },
      });
      const asked = Array.from({ length: 40 }, async (_, n) => {
        const value = `v${'w'.repeat(int(0, 300))}`;
        const fields = { 'x-same': 'always the same', [`x-name-${n % 5}`]: value, 'x-empty': '', 'x-latin': 'caf\xe9' };
        const isEmpty = int(0, 3) === 0;
        // A window of one byte makes a frame of every byte.
        const most = round === 0 ? 50 : 30_000;
        const body = isEmpty ? [] : Array.from({ length: int(1, 5) }, () => Buffer.alloc(int(1, most), n));
        const trailers = isEmpty || int(0, 2) > 0 ? null : { 'x-sum': String(n) };
        const answer = await ask(session, `/echo/${n}`, fields, body, trailers);
        expect(answer.head).toMatchObject({ ':status': 200, 'x-path': `/echo/${n}`, ...fields });
        expect(answer.body.equals(Buffer.concat(body))).toBe(true);
        expect(answer.trailers['x-sum']).toBe(trailers?.['x-sum']);
      });
      await Promise.all(asked);
      session.destroy();
    }
    expect(server.faults).toEqual([]);
  });

  test('takes a large body and settings that change under way', async () => {
    const session = connect(`http://127.0.0.1:${server.port}`);
    const large = ask(session, '/zeros/20000000', {}, [], null);
    session.settings({ initialWindowSize: 10 });
    session.settings({ initialWindowSize: 2_000_000, headerTableSize: 0 });
    expect((await large).body.length).toBe(20_000_000);
    session.close();
    expect(server.faults).toEqual([]);
  });
});

describe('programs', () => {
  test('curl', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const args = [
      '-sS',
      '--http2-prior-knowledge',
      '-o',
      '/dev/null',
      '-w',
      '%{http_version} %{http_code} %{size_download}',
    ];
    expect((await run('curl', [...args, `${url}/zeros/3000000`])).stdout).toBe('2 200 3000000');
    expect((await run('curl', [...args, '-d', 'hello', `${url}/x`])).stdout).toBe('2 200 5');
  });

  test('h2load: 20 connections of 50 streams', async () => {
    const { stdout } = await run('h2load', [
      '-n',
      '4000',
      '-c',
      '20',
      '-m',
      '50',
      `http://127.0.0.1:${server.port}/zeros/700`,
    ]);
    expect(stdout).toContain('4000 succeeded, 0 failed, 0 errored, 0 timeout');
  });

  test('nghttp, with priorities, padding and continuations', async () => {
    const long = Array.from({ length: 10 }, (_, n) => ['-H', `x-long-${n}: ${'v'.repeat(3000)}`]).flat();
    const url = `http://127.0.0.1:${server.port}/zeros/5`;
    const { stdout } = await run('nghttp', ['-n', '-s', '-b', '100', '-p', '7', ...long, '--continuation', url]);
    expect(stdout).toMatch(/ 200 /);
    expect(server.faults).toEqual([]);
  });

  test('python3-h2 finds nothing wrong with what we write', async () => {
    const script = `
import json, random, socket, sys
import h2.connection, h2.config, h2.events, h2.settings
random.seed(7)
wrong = 0
for round in range(8):
    sock = socket.create_connection(('127.0.0.1', ${server.port}))
    conn = h2.connection.H2Connection(config=h2.config.H2Configuration(client_side=True, header_encoding='utf-8'))
    conn.local_settings = h2.settings.Settings(client=True, initial_values={
        h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: random.choice([10, 1000, 65535]),
        h2.settings.SettingCodes.HEADER_TABLE_SIZE: random.choice([0, 64, 4096])})
    conn.initiate_connection()
    sent, got, ended, trailers, heads = {}, {}, set(), {}, {}
    for n in range(20):
        stream = conn.get_next_available_stream_id()
        body = bytes([n]) * random.choice([0, 1, 100, 3000])
        conn.send_headers(stream, [(':method', 'POST' if body else 'GET'), (':scheme', 'http'), (':authority', 'a.example'),
            (':path', '/%d' % n), ('x-n', str(n)), ('x-same', 'same')], end_stream=not body)
        sent[stream] = body
        got[stream] = b''
        if body:
            conn.send_data(stream, body, pad_length=random.choice([None, 0, 20]))
            conn.send_headers(stream, [('x-sum', str(len(body)))], end_stream=True)
    while len(ended) < 20:
        sock.sendall(conn.data_to_send())
        data = sock.recv(65536)
        if not data: raise SystemExit('closed')
        for event in conn.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                got[event.stream_id] += event.data
                conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.ResponseReceived): heads[event.stream_id] = dict(event.headers)
            elif isinstance(event, h2.events.TrailersReceived): trailers[event.stream_id] = dict(event.headers)
            elif isinstance(event, h2.events.StreamEnded): ended.add(event.stream_id)
            elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)): raise SystemExit(repr(event))
    for stream, body in sent.items():
        n = str(stream // 2)
        if got[stream] != body or heads[stream]['x-n'] != n: wrong += 1
        if body and trailers[stream]['x-sum'] != str(len(body)): wrong += 1
    sock.close()
print('wrong', wrong)
`;
    const { stdout } = await run('/usr/bin/python3', ['-c', script]);
    expect(stdout).toBe('wrong 0\n');
    expect(server.faults).toEqual([]);
  });
});
