// Must not happen: a credential goes into a body beside a value of the sandbox that the far side reads in its place, into a body
// that is not what it seems, or into one of any size.
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderFor } from '../../../src/kit/text/placeholder.ts';
import { openPlacesGround, type PlacesGround, realValues, typedBody } from '../../support/places-ground.ts';

let ground: PlacesGround;

beforeAll(async () => {
  ground = await openPlacesGround();
});

afterAll(() => ground.stop());

const json = (text: string | Buffer, type = 'application/json'): Buffer => typedBody(text, type);
const form = (text: string, type = 'application/x-www-form-urlencoded'): Buffer => typedBody(text, type);
const inJson = (rest: Buffer) => ground.send('json.example', 'POST /login HTTP/1.1', rest);
const inForm = (rest: Buffer) => ground.send('form.example', 'POST /token HTTP/1.1', rest);

describe('in its place', () => {
  test('of JSON: the value is exchanged, the length is right, and nothing else changes', async () => {
    const sent = `{ "n": 1e400, "auth" : {"token": "${placeholderFor('login')}", "x": [1.10]} }`;
    const answer = await inJson(json(sent, 'application/vnd.api+json; charset=UTF-8'));
    expect(answer.statuses).toEqual([200]);
    const [request] = ground.upstream.requests;
    expect(request!.body).toBe(`{ "n": 1e400, "auth" : {"token": ${JSON.stringify(realValues.login)}, "x": [1.10]} }`);
    expect(request!.head).toContain(`Content-Length: ${request!.body.length}\r\n`);
    expect(JSON.stringify(await ground.lastRecord())).not.toContain('7f3a9c51');
  });

  test('of JSON in chunks, with trailers and a digest that are no longer true', async () => {
    const body = '2\r\n{"\r\nc\r\nauth":{}}   \r\n0\r\nX-Late: 1\r\n\r\n';
    const head = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-MD5: x\r\n\r\n';
    const answer = await inJson(Buffer.from(head + body));
    expect(answer.statuses).toEqual([200]);
    expect(JSON.parse(ground.upstream.requests[0]!.body)).toEqual({ auth: { token: realValues.login } });
    expect(ground.upstream.bytes).not.toMatch(/X-Late|Content-MD5|Transfer-Encoding/i);
  });

  test('of a form: the field is exchanged where it stands, or put behind the others', async () => {
    await inForm(form(`a=1&client_secret=${placeholderFor('client')}&b=%20x`));
    const value = encodeURIComponent(realValues.client);
    expect(ground.upstream.requests[0]!.body).toBe(`a=1&client_secret=${value}&b=%20x`);
    await inForm(form('a=1'));
    expect(ground.upstream.requests[0]!.body).toBe(`a=1&client_secret=${value}`);
  });
});

describe('JSON that is read in two ways, or is none', () => {
  test.each([
    ['the place twice', '{"auth":{"token":"a","token":"b"}}'],
    ['the place twice, escaped', String.raw`{"auth":{"token":"a","\u0074oken":"b"}}`],
    ['the place in two spellings', '{"auth":{"token":"a","TOKEN":"b"}}'],
    ['what it is in twice', '{"auth":{"token":"a"},"auth":{"token":"b"}}'],
    ['a mark in front of it', '\uFEFF{"auth":{}}'],
    ['something else there', '{"auth":{"token":{"a":1}}}'],
    ['nothing to put it in', '{"other":1}'],
    ['no JSON', 'auth=token'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('%s: nothing goes out', async (_, body) => {
    const answer = await inJson(json(body));
    expect([answer.statuses, answer.code]).toEqual([[403], 'credential.no-place']);
    expect(ground.upstream.bytes).toBe('');
  });

  test.each([
    ['another type', json('{"auth":{}}', 'text/plain')],
    ['another charset', json('{"auth":{}}', 'application/json; charset=utf-16')],
    ['two types', typedBody('{"auth":{}}', 'application/json\r\nContent-Type: text/plain')],
    ['compressed', typedBody(gzipSync('{"auth":{}}'), 'application/json\r\nContent-Encoding: gzip')],
    ['said to be compressed', typedBody('{"auth":{}}', 'application/json\r\nContent-Encoding: gzip')],
    ['no body', Buffer.from('\r\n')],
  ])('%s: nothing goes out', async (_, rest) => {
    const answer = await inJson(rest);
    expect([answer.statuses, answer.code]).toEqual([[403], 'credential.no-place']);
    expect(ground.upstream.bytes).toBe('');
  });
});

describe('a form that is read in two ways', () => {
  test.each([
    'client_secret=a&client_secret=b',
    'client_secret=a&client%5Fsecret=b',
    'client_secret=a&+client_secret=b',
    'x=1;client_secret=a',
    'client_secret=a;client_secret=b',
  ])('%s: nothing goes out', async (body) => {
    const answer = await inForm(form(body));
    expect([answer.statuses, answer.code]).toEqual([[403], 'credential.no-place']);
    expect(ground.upstream.bytes).toBe('');
  });
});

test.each([
  ['with its length', (body: string) => json(body)],
  [
    'in chunks',
    (body: string) =>
      Buffer.from(
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ),
  ],
])('a body over the bound, %s, is refused with the key that raises it', async (_, write) => {
  const answer = await inJson(write(`{"auth":{},"x":"${'x'.repeat(5000)}"}`));
  expect([answer.statuses, answer.code]).toEqual([[413], 'limit.body-size']);
  expect(answer.text).toContain('"rule":"secrets.injected_body_bytes"');
  expect(ground.upstream.bytes).toBe('');
});

describe('a placeholder of one credential in the place of another', () => {
  test('is removed where it belongs to the host, and refused where it does not', async () => {
    await inJson(json(`{"auth":{"token":"${placeholderFor('other')}"}}`));
    expect(JSON.parse(ground.upstream.requests[0]!.body)).toEqual({ auth: { token: realValues.login } });
    const refused = await inJson(json(`{"auth":{"token":"${placeholderFor('client')}"}}`));
    expect(refused.code).toBe('secret.placeholder-misplaced');
    expect(ground.upstream.bytes).toBe('');
  });
});
