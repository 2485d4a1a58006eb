import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const hidden = 'GET /hidden HTTP/1.1\r\nHost: api.example\r\n\r\n';
const post = (...lines: string[]): string =>
  `POST /front HTTP/1.1\r\nHost: api.example\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const chunked = post('Transfer-Encoding: chunked');

const ambiguous: [string, string][] = [
  ['CL.TE', `${post('Content-Length: 6', 'Transfer-Encoding: chunked')}0\r\n\r\nG`],
  ['TE.CL', `${post('Transfer-Encoding: chunked', 'Content-Length: 4')}5c\r\n${hidden}\r\n0\r\n\r\n`],
  ['two lengths that differ', `${post('Content-Length: 0', `Content-Length: ${hidden.length}`)}${hidden}`],
  ['two lengths that agree', `${post('Content-Length: 1', 'Content-Length: 1')}x`],
  ['a list of lengths', `${post('Content-Length: 1, 1')}x`],
  ['a signed length', `${post('Content-Length: +1')}x`],
  ['a hexadecimal length', `${post('Content-Length: 0x1')}x`],
  ['a length with a space in it', `${post('Content-Length: 1 0')}x`],
  ['a length with a space behind it', `${post('Content-Length: 1 ')}x`],
  ['a length behind a tab', `${post('Content-Length:\t1')}x`],
  ['a length past 2^64', `${post('Content-Length: 18446744073709551617')}x`],
  ['an empty length', `${post('Content-Length:')}${hidden}`],
  ['a length behind an underscore', `${post('Content_Length: 1')}x`],
  ['two codings', `${post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
  ['chunked twice in a list', `${post('Transfer-Encoding: chunked, chunked')}0\r\n\r\n`],
  ['identity first', `${post('Transfer-Encoding: identity', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
  ['gzip before chunked', `${post('Transfer-Encoding: gzip, chunked')}0\r\n\r\n`],
  ['chunked that is not last', `${post('Transfer-Encoding: chunked, identity')}0\r\n\r\n`],
  ['xchunked', `${post('Transfer-Encoding: xchunked')}0\r\n\r\n`],
  ['a coding in quotes', `${post('Transfer-Encoding: "chunked"')}0\r\n\r\n`],
  ['a coding with a parameter', `${post('Transfer-Encoding: chunked;q=1')}0\r\n\r\n`],
  ['a coding behind a tab', `${post('Transfer-Encoding:\tchunked')}0\r\n\r\n`],
  ['a coding before a tab', `${post('Transfer-Encoding: chunked\t')}0\r\n\r\n`],
  ['a coding behind a vertical tab', `${post('Transfer-Encoding: \x0bchunked')}0\r\n\r\n`],
  ['a coding behind a space before the colon', `${post('Transfer-Encoding : chunked')}0\r\n\r\n`],
  ['a coding on a line that begins with a space', `${post('X: y', ' Transfer-Encoding: chunked')}0\r\n\r\n`],
  ['a coding behind a bare LF', `${post('X: y\nTransfer-Encoding: chunked')}0\r\n\r\n`],
  ['a coding behind a bare CR', `${post('X: y\rTransfer-Encoding: chunked')}0\r\n\r\n`],
  ['a folded coding', `${post('Transfer-Encoding:\r\n chunked')}0\r\n\r\n`],
  ['a coding behind an underscore', `${post('Transfer_Encoding: chunked')}0\r\n\r\n`],
  ['an empty coding', `${post('Transfer-Encoding:')}0\r\n\r\n`],
  ['a body on an upgrade', `${post('Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 1')}x`],
];

const brokenChunks: [string, string][] = [
  ['no size', `${chunked}\r\nx\r\n0\r\n\r\n`],
  ['a size in another alphabet', `${chunked}xyz\r\nx\r\n0\r\n\r\n`],
  ['a negative size', `${chunked}-1\r\nx\r\n0\r\n\r\n`],
  ['a size with 0x', `${chunked}0x1\r\nx\r\n0\r\n\r\n`],
  ['a size with a space', `${chunked}1 \r\nx\r\n0\r\n\r\n`],
  ['a size that overflows to 1', `${chunked}10000000000000001\r\nx\r\n0\r\n\r\n`],
  ['a size line that ends in LF', `${chunked}1\nx\r\n0\r\n\r\n`],
  ['a size line that ends in CR', `${chunked}1\rx\r\n0\r\n\r\n`],
  ['an extension without a name', `${chunked}1;\r\nx\r\n0\r\n\r\n`],
  ['an extension with a bare LF in it', `${chunked}1;a=b\nc\r\nx\r\n0\r\n\r\n`],
  ['an extension with a NUL', `${chunked}1;a=\0\r\nx\r\n0\r\n\r\n`],
  ['an extension without end', `${chunked}1;${'a'.repeat(300)}\r\nx\r\n0\r\n\r\n`],
  ['more data than the size says', `${chunked}1\r\nxy\r\n0\r\n\r\n${hidden}`],
  ['data that ends in LF', `${chunked}1\r\nx\n0\r\n\r\n`],
  ['a last chunk that ends in LF', `${chunked}0\n\n${hidden}`],
  ['a trailer that ends in LF', `${chunked}0\r\nX: y\n\r\n`],
  ['a trailer named Content-Length', `${chunked}0\r\nContent-Length: 5\r\n\r\n`],
  ['a trailer named Transfer-Encoding', `${chunked}0\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['a trailer named Host', `${chunked}0\r\nHost: open.example\r\n\r\n`],
  ['a trailer named Authorization', `${chunked}0\r\nAuthorization: Bearer mine\r\n\r\n`],
  ['a trailer named x-api-key', `${chunked}0\r\nx-api-key: mine\r\n\r\n`],
  ['a trailer named Proxy-Authorization', `${chunked}0\r\nProxy-Authorization: Basic eA==\r\n\r\n`],
  ['trailers without end', `${chunked}0\r\nX: ${'y'.repeat(9000)}\r\n\r\n`],
];

async function isRefused(bytes: string): Promise<void> {
  ground.upstream.forget();
  const answer = await sendTunnelled(ground.gateway, 'api.example', bytes);
  expect(answer.statuses).toEqual([400]);
  expect(answer.code).toMatch(/^malformed\.(framing|syntax)$/);
  expect(answer.closed).toBe(true);
  expect(ground.upstream.bytes).toBe('');
}

describe('a message whose end can be found in two places reaches nobody', () => {
  test.each(ambiguous)('%s', (_what, bytes) => isRefused(bytes));
  test.each(brokenChunks)('chunked, with %s', (_what, bytes) => isRefused(bytes));
});

describe('what has one reading passes, as exactly one request', () => {
  test('a request in the body of another stays a body', async () => {
    ground.upstream.forget();
    const bytes = `${post(`Content-Length: ${hidden.length}`, 'Connection: close')}${hidden}`;
    const answer = await sendTunnelled(ground.gateway, 'api.example', bytes);
    expect(answer.statuses).toEqual([200]);
    expect(ground.upstream.requests.map(({ body }) => body)).toEqual([hidden]);
  });

  test('a chunked body passes with its framing, its extension and its trailer', async () => {
    ground.upstream.forget();
    const body = `2c;a="b;c"\r\n${hidden.padEnd(44)}\r\n0\r\nX-Sum: 1\r\n\r\n`;
    const answer = await sendTunnelled(
      ground.gateway,
      'api.example',
      `${post('Transfer-Encoding: chunked', 'Connection: close')}${body}`,
    );
    expect(answer.statuses).toEqual([200]);
    expect(ground.upstream.requests.map((request) => request.body)).toEqual([body]);
  });

  test('a pipelined request is judged by itself', async () => {
    ground.upstream.forget();
    const other = 'GET /other HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n';
    const answer = await sendTunnelled(ground.gateway, 'api.example', `${post('Content-Length: 0')}${other}`);
    expect(answer.statuses).toEqual([200, 400]);
    expect(answer.code).toBe('mismatch.authority');
    expect(ground.upstream.requests.length).toBe(1);
    expect(ground.upstream.bytes).not.toContain('/other');
  });
});
