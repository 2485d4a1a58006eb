import { describe, expect, test } from 'vitest';
import { bodyOf, clientFlow, judged, realKeys, resign, sentBy } from './sigv4-ground.ts';

const signature = 'f'.repeat(64);
const plain = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD';
const trailing = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER';

function chunk(data: Buffer | string): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)};chunk-signature=${signature}\r\n`), bytes, crlf]);
}

const crlf = Buffer.from('\r\n');
const last = Buffer.from(`0;chunk-signature=${signature}\r\n`);

async function put(stated: string, ...parts: (Buffer | string)[]) {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const flow = await clientFlow({ method: 'PUT', path: '/b/k', headers: { 'x-amz-content-sha256': stated }, body });
  const out = await resign(flow);
  return { flow, body, out, exchange: sentBy(flow, out) };
}

describe('a body whose chunks are signed one by one', () => {
  test('has every chunk signed anew and is as long as before', async () => {
    const large = Buffer.alloc(70_000, 'abc');
    const { flow, body, out, exchange } = await put(
      plain,
      chunk(large),
      chunk('\r\n0;chunk-signature=\r\n'),
      last,
      crlf,
    );
    const verdict = await judged(flow, out);
    expect(
      verdict.valid && verdict.body.equals(Buffer.concat([large, Buffer.from('\r\n0;chunk-signature=\r\n')])),
    ).toBe(true);
    const { exchange: again } = await put(plain, chunk(large), chunk('\r\n0;chunk-signature=\r\n'), last, crlf);
    const sent = await bodyOf(again);
    expect(sent.length).toBe(body.length);
    expect(sent.includes(signature)).toBe(false);
    expect(exchange.requestFraming).toEqual({ kind: 'length', bytes: body.length });
  });

  test.each(['\r\n', '\n\r\n', '\n'])('has its trailer signed anew (fields that end in %j)', async (end) => {
    const trailer = `x-amz-checksum-crc32c:sOO8/Q==${end}x-amz-trailer-signature:${signature}\r\n\r\n`;
    const { flow, out } = await put(trailing, chunk('hello'), last, trailer);
    expect(await judged(flow, out)).toEqual({ valid: true, body: Buffer.from('hello') });
  });

  test('that is empty', async () => {
    const { flow, out } = await put(plain, last, crlf);
    expect(await judged(flow, out)).toMatchObject({ valid: true });
  });

  test.each<[string, string, string, (Buffer | string)[]]>([
    ['a chunk without a signature', 'begin with', plain, ['5\r\nhello\r\n', last, crlf]],
    ['a chunk that is longer than it says', 'as long as', plain, [`4;chunk-signature=${signature}\r\nhello\r\n`, last]],
    ['a chunk that is cut off', 'middle of a chunk', plain, [chunk('hello').subarray(0, -4)]],
    ['no last chunk', 'middle of a line', plain, [chunk('hello')]],
    ['something behind the last chunk', 'more at its end', plain, [chunk('hello'), last, crlf, 'more']],
    ['a chunk that would fill the memory', 'more than', plain, [`fffffff;chunk-signature=${signature}\r\n`]],
    ['a line without end', 'middle of a line', plain, ['a'.repeat(5000)]],
    [
      'a trailer that is not signed',
      'not signed',
      trailing,
      [chunk('a'), last, 'x-amz-checksum-crc32c:sOO8/Q==\r\n\r\n'],
    ],
    [
      'a trailer that goes on',
      'not signed',
      trailing,
      [chunk('a'), last, `x-amz-trailer-signature:${signature}\r\nx-a:1\r\n`],
    ],
    ['a trailer without end', 'more at its end', trailing, [chunk('a'), last, 'x'.repeat(20_000)]],
  ])('breaks off at %s', async (_, words, stated, parts) => {
    const { exchange } = await put(stated, ...parts);
    await expect(bodyOf(exchange)).rejects.toThrow(words);
  });

  test('never sends the real key', async () => {
    const { exchange } = await put(plain, chunk('hello'), last, crlf);
    const sent = await bodyOf(exchange);
    expect(sent.includes(realKeys.secretAccessKey)).toBe(false);
    expect(sent.toString()).toMatch(
      /^5;chunk-signature=[0-9a-f]{64}\r\nhello\r\n0;chunk-signature=[0-9a-f]{64}\r\n\r\n$/,
    );
  });
});
