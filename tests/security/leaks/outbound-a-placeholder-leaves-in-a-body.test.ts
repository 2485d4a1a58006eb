// Must not happen: a placeholder leaves for a host that it does not belong to, in a body: in pieces, in chunks, compressed,
// behind it.
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderSigns } from '../../../src/kit/text/placeholder.ts';
import {
  expectRefused,
  inChunks,
  misplaced,
  type OutboundGround,
  openOutboundGround,
  outbound,
  placeholder,
  realKey,
  withLength,
  writtenAs,
} from './outbound-ground.ts';

let ground: OutboundGround;

beforeAll(async () => {
  ground = await openOutboundGround({ searched_body_bytes: 4096 });
});

afterAll(() => ground.stop());

const post = 'POST /upload HTTP/1.1';
const [sign] = placeholderSigns('key');
const inTheBody = 'placeholder of key in the body';
const form = `a=1&token=${placeholder}&b=2`;

describe('a placeholder does not leave in a body', () => {
  test.each(writtenAs)('%s', async (_name, write) => {
    const body = `{"text": "${write(placeholder)}"}`;
    await expectRefused(ground, await ground.send('open.example', post, withLength(body)), misplaced, inTheBody);
    expect(ground.upstream.bytes).not.toContain(write(placeholder));
  });

  test.each([
    ['that comes byte by byte', withLength(form), 1],
    ['that comes in sevens', withLength(form), 7],
    ['in chunks', inChunks([form.slice(0, 20), form.slice(20, 30), form.slice(30)]), 1000],
    ['in chunks of one byte, cut anywhere', inChunks([...form]), 3],
    [
      'as an extension of a chunk',
      Buffer.from(`Transfer-Encoding: chunked\r\n\r\n1;x="${placeholder}"\r\na\r\n0\r\n\r\n`),
      9,
    ],
    ['in gzip', withLength(gzipSync(form), 'Content-Encoding: gzip\r\n'), 11],
    [
      'in gzip, in chunks',
      inChunks([gzipSync(form).subarray(0, 30), gzipSync(form).subarray(30)], '', 'Content-Encoding: x-gzip\r\n'),
      1000,
    ],
    ['in deflate', withLength(deflateSync(form), 'Content-Encoding: deflate\r\n'), 1000],
    ['in brotli', withLength(brotliCompressSync(form), 'Content-Encoding: br\r\n'), 1000],
    ['that only says it is compressed', withLength(form, 'Content-Encoding: gzip\r\n'), 1000],
    ['behind a question whether to send it', withLength(form, 'Expect: 100-continue\r\n'), 1000],
  ])('%s', async (what, rest, pieceBytes) => {
    const answer = await ground.send('open.example', post, rest, { pieceBytes });
    const place = what.includes('extension') ? 'placeholder of key in the framing of the body' : inTheBody;
    await expectRefused(ground, answer, misplaced, place);
    expect(ground.upstream.bytes).not.toContain(sign);
  });

  test('in a trailer', async () => {
    const rest = inChunks(['abc'], `X-Sum: ${placeholder}\r\n`, 'Trailer: X-Sum\r\n');
    const answer = await ground.send('open.example', post, rest, { pieceBytes: 13 });
    expect(answer.code).toBe(misplaced);
    expect(ground.upstream.requests).toEqual([]);
    expect(ground.upstream.bytes).not.toContain(sign);
  });

  test('in what comes after the first requests of a connection', async () => {
    const first = 'GET / HTTP/1.1\r\nHost: open.example\r\n\r\n';
    const answer = await ground.send('open.example', `${first}${post}`, withLength(form));
    expect(answer.statuses).toEqual([200, 403]);
    expect(ground.upstream.requests).toHaveLength(1);
  });
});

describe('a body to a model may hold what an agent has read', () => {
  test('a placeholder passes there, and is recorded as an incident', async () => {
    const answer = await ground.send('model.example', post, withLength(form));
    expect(answer.statuses).toContain(200);
    expect(ground.upstream.bytes).toContain(form);
    expect(await ground.lastIncident()).toMatchObject({ verdict: 'allowed', incident: inTheBody });
    const metrics = await ground.gateway.admin('GET', '/internal/metrics');
    expect(metrics.body).toMatch(/sallyport_incidents_total\{kind="placeholder"\} [1-9]/);
  });

  test('a real key does not pass there, nor a placeholder in the head', async () => {
    const real = await ground.send('model.example', post, withLength(realKey));
    await expectRefused(ground, real, outbound, 'value of key in the body');
    const head = await ground.send('model.example', `POST /?k=${placeholder} HTTP/1.1`, withLength('a'));
    await expectRefused(ground, head, misplaced, 'placeholder of key in the query');
  });
});

describe('what belongs or holds nothing is let through as it came', () => {
  test.each([
    ['a placeholder at home', 'api.example', withLength(form)],
    [
      'words that begin like it',
      'open.example',
      inChunks(['sallyport-place', 'd in the harbour, sallyport-', 'placeholder-for-']),
    ],
    ['a compressed body', 'open.example', withLength(gzipSync('nothing to see'), 'Content-Encoding: gzip\r\n')],
    ['trailers', 'open.example', inChunks(['abc'], 'X-Sum: 7\r\n')],
    ['what stands behind the limit', 'open.example', withLength(`${'x'.repeat(200_000)}${placeholder}`)],
  ])('%s', async (_what, host, rest) => {
    const answer = await ground.send(host, post, rest, { pieceBytes: 50_000 });
    expect(answer.code).toBeNull();
    expect(answer.statuses).toContain(200);
    const body = rest.subarray(rest.indexOf('\r\n\r\n') + 4).toString('latin1');
    expect(ground.upstream.requests.map((request) => request.body)).toEqual([body]);
  });
});
