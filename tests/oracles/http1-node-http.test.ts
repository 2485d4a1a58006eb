// Ours against node:http itself, over in-process connections: what an upstream or a client written in Node would
// take our accepted streams for. Fewer streams than the parser comparison, and the whole of Node's stack.
import { once } from 'node:events';
import http from 'node:http';
import { Duplex } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { cut, randomFrom, requestStream, responseStream } from './http1-corpus.ts';
import { nodeMethods } from './http1-node-reading.ts';
import { type ReadMessage, readOurRequests, readOurResponses } from './http1-our-reading.ts';

const SEED = 20260728;
const STREAMS = 400;

type Seen = Pick<ReadMessage, 'start' | 'fields' | 'body' | 'trailers'>;

const seenOf = ({ start, fields, body, trailers }: ReadMessage): Seen => ({ start, fields, body, trailers });

/** A connection that delivers the parts, then ends or stays open, and forgets what is written to it. */
function connectionOf(parts: readonly Buffer[], thenEnd: boolean): Duplex {
  const queue = [...parts];
  return new Duplex({
    read() {
      const part = queue.shift();
      if (part !== undefined) this.push(part);
      else if (thenEnd) this.push(null);
    },
    write(_chunk, _encoding, done) {
      done();
    },
  });
}

async function drain(message: http.IncomingMessage): Promise<string> {
  let body = '';
  message.setEncoding('latin1');
  message.on('data', (text: string) => {
    body += text;
  });
  await once(message, 'end');
  return body;
}

async function readByServer(parts: readonly Buffer[], expected: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  const connection = connectionOf(parts, false);
  const server = http.createServer({ insecureHTTPParser: false, requireHostHeader: false }, (request, response) => {
    const start = `${request.method} ${request.url} ${request.httpVersion}`;
    drain(request).then(
      (body) => {
        seen.push({ start, fields: request.rawHeaders, body, trailers: request.rawTrailers });
        response.end();
        // Once more round the loop, so that a request too many would still be seen.
        if (seen.length === expected) setImmediate(() => connection.destroy());
      },
      () => connection.destroy(),
    );
  });
  server.on('clientError', () => connection.destroy());
  server.emit('connection', connection);
  const impatience = setTimeout(() => connection.destroy(), 2000);
  if (expected === 0) connection.destroy();
  if (!connection.closed) await once(connection, 'close');
  clearTimeout(impatience);
  return seen;
}

async function readByClient(parts: readonly Buffer[]): Promise<Seen | null> {
  const request = http.request({
    method: 'GET',
    insecureHTTPParser: false,
    createConnection: () => connectionOf(parts, true),
  });
  // What comes after the first answer may be anything.
  request.on('error', () => undefined);
  request.end();
  try {
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    const body = await drain(answer);
    const start = `${answer.statusCode} ${answer.statusMessage} ${answer.httpVersion}`;
    return { start, fields: answer.rawHeaders, body, trailers: answer.rawTrailers };
  } catch {
    return null;
  } finally {
    request.destroy();
  }
}

describe('node:http reads what ours accepts as ours does', () => {
  test('a server, request by request', async () => {
    const random = randomFrom(SEED);
    let compared = 0;
    for (let i = 0; i < STREAMS; i++) {
      const stream = requestStream(random);
      const ours = readOurRequests([stream]);
      const whole = ours.messages.filter((message) => message.complete);
      if (!whole.every((message) => nodeMethods.has(message.start.split(' ')[0]!))) continue;
      // Only what was accepted: after a bad message a server drops the good ones it has not answered yet.
      const theirs = await readByServer(cut(random, stream.subarray(0, ours.consumed)), whole.length);
      expect(theirs, stream.toString('latin1')).toEqual(whole.map(seenOf));
      compared += whole.length;
    }
    console.log(`node:http server: seed ${SEED}, ${STREAMS} streams, ${compared} requests compared`);
    expect(compared).toBeGreaterThan(STREAMS / 4);
  });

  test('a client, up to the first final answer', async () => {
    const random = randomFrom(SEED);
    let compared = 0;
    for (let i = 0; i < STREAMS; i++) {
      const stream = responseStream(random);
      const parts = cut(random, stream);
      const final = readOurResponses(parts, 'GET').messages.find((message) => !message.start.startsWith('1'));
      if (final === undefined || !final.complete) continue;
      expect(await readByClient(parts), stream.toString('latin1')).toEqual(seenOf(final));
      compared++;
    }
    console.log(`node:http client: seed ${SEED}, ${STREAMS} streams, ${compared} answers compared`);
    expect(compared).toBeGreaterThan(STREAMS / 8);
  });
});
