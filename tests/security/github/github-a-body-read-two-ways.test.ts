import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendTunnelled } from '../../support/raw-client.ts';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const target = '/repos/acme/widgets/contents/README.md';
const good = { message: 'm', content: '', branch: 'sandbox/work' };
const reviews = '/repos/acme/widgets/pulls/7/reviews';
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

describe('GitHub reads the body that was judged, and nothing beside it', () => {
  test('of two keys of one name only the one that was judged is sent', async () => {
    const twice = (first: string, second: string) =>
      `{"message":"m","content":"","branch":"${first}","branch":"${second}"}`;
    const seen = await ground.expectPassed({ method: 'PUT', target, body: twice('main', 'sandbox/work') });
    expect(seen.body).toBe(JSON.stringify(good));
    await ground.expectRefused({ method: 'PUT', target, body: twice('sandbox/work', 'main') }, 'push.protected-branch');
    await ground.expectRefused(
      { method: 'PUT', target, body: String.raw`{"branch":"sandbox/work","br\u0061nch":"main"}` },
      'push.protected-branch',
    );
    await ground.expectRefused(
      { method: 'POST', target: reviews, body: '{"event":"COMMENT","event":"APPROVE"}' },
      'github.effect',
    );
  });

  test.each(['?branch=main', '?branch=sandbox/work', '?', '?x', '?message=m&branch[]=main', '?_method=DELETE'])(
    'parameters in the query are refused: %s',
    async (query) => {
      await ground.expectRefused({ method: 'PUT', target: `${target}${query}`, body: good }, 'malformed.syntax');
      await ground.expectRefused({ method: 'DELETE', target: `${target}${query}` }, 'malformed.syntax');
    },
  );

  test('an approval in the query is refused', async () => {
    await ground.expectRefused({ method: 'POST', target: `${reviews}?event=APPROVE`, body: {} }, 'malformed.syntax');
    await ground.expectRefused({ method: 'POST', target: `${reviews}/7/events?event=APPROVE` }, 'malformed.syntax');
  });

  test.each(['gzip', 'deflate', 'br', 'identity', 'GZIP', 'x'])(
    'a body in the coding %s is refused',
    async (coding) => {
      const body = coding.toLowerCase() === 'gzip' ? gzipSync(JSON.stringify(good)) : JSON.stringify(good);
      const headers = { 'Content-Encoding': coding };
      await ground.expectRefused({ method: 'PUT', target, body, headers }, 'malformed.syntax');
    },
  );

  test.each<[string, string | Buffer]>([
    ['a list', JSON.stringify([good])],
    ['a text', '"branch"'],
    ['null', 'null'],
    ['a form', 'branch=sandbox/work&message=m'],
    ['two objects', `${JSON.stringify(good)}{"branch":"main"}`],
    ['a comment', '{"branch":"sandbox/work"/*,"branch":"main"*/}'],
    ['UTF-16', Buffer.from(JSON.stringify(good), 'utf16le')],
    ['a byte order mark', `\ufeff${JSON.stringify(good)}`],
    ['bytes that are not UTF-8', Buffer.from('{"branch":"sandbox/\xff"}', 'latin1')],
    ['half an object', '{"branch":"sandbox/work"'],
  ])('a body that is %s is refused', async (_, body) => {
    await ground.expectRefused({ method: 'PUT', target, body }, 'malformed.syntax');
  });

  test('nothing at all says nothing: no branch, no event', async () => {
    await ground.expectRefused({ method: 'PUT', target }, 'push.undecided');
    await ground.expectPassed({ method: 'POST', target: reviews });
  });

  // A value of a JSON text can be a field of a form: what is judged as one must not be read as the other.
  test.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'application/json; charset=utf-16',
  ])('a body that says it is %s arrives as JSON or not at all', async (type) => {
    const body = { ...good, message: '&branch=main&x=' };
    ground.api.seen.length = 0;
    await ground.call({ method: 'PUT', target, body, headers: { 'Content-Type': type } });
    await ground.call({
      method: 'POST',
      target: reviews,
      body: { body: '&event=APPROVE&x=' },
      headers: { 'Content-Type': type },
    });
    const types = ground.arrived().map(({ headers }) => headers['content-type']);
    expect(types.filter((one) => one !== 'application/json' && one !== 'application/json; charset=utf-8')).toEqual([]);
  });

  test('a body in pieces, and one with its length, are the same', async () => {
    const text = JSON.stringify({ ...good, branch: 'main' });
    const chunked = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const fields = 'Host: api.github.com\r\nConnection: close\r\nContent-Type: application/json\r\n';
    const raw = `PUT ${target} HTTP/1.1\r\n${fields}Transfer-Encoding: chunked\r\n\r\n${chunked}`;
    ground.api.seen.length = 0;
    const answer = await sendTunnelled(ground.gateway, 'api.github.com', raw);
    expect(answer.code).toBe('push.protected-branch');
    expect(ground.arrived()).toEqual([]);
  });

  test('more than it takes is refused before it is read', async () => {
    const headers = { 'Content-Length': String(17 * 1024 * 1024) };
    await ground.expectRefused({ method: 'PUT', target, body: '{', headers }, 'limit.body-size');
  });

  test('what is unknown in the body goes on as it was', async () => {
    const body = { ...good, author: { name: 'x', email: 'y' }, __proto__x: 1, sha: null };
    const seen = await ground.expectPassed({ method: 'PUT', target, body });
    expect(JSON.parse(seen.body)).toEqual(body);
  });
});
