// Only a 401 says that a credential is too old. An upstream that answers 403, 404 or 500 has perhaps done what it was asked,
// and a sandbox can have such answers as often as it likes: sent again, a request would act twice, and each would spend a
// refresh token of the user's login.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { settle } from '../../support/settle.ts';
import { get, Http1Ground, post } from '../../unit/stages/forward/relay/retry-ground.ts';

const far = new Http1Ground();
beforeAll(() => far.open());
afterAll(() => far.close());
beforeEach(() => far.begin());

const others = [400, 402, 403, 404, 407, 408, 409, 410, 418, 421, 425, 429, 451, 500, 501, 502, 503, 504, 511];

describe('an answer that is no 401 is passed on as it came, with a credential that could be renewed', () => {
  test.each(others)('%i: sent once, nothing renewed', async (status) => {
    const text = `because of ${status}`;
    far.serve = async ({ wire }, head) => {
      far.bodies.push(await wire.bytes(Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)));
      wire.send(
        `HTTP/1.1 ${status} No\r\nWWW-Authenticate: Bearer error="invalid_token"\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      );
    };
    const client = far.ask();
    client.send(post('do it'));
    const { head, body } = await client.answer();
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(body).toBe(text);
    await eventually(() => far.ground.outcomes.length === 1, 'the request is over');
    // What is renewed behind the back of the request would be seen by now.
    await settle(5);
    expect(far.bodies).toEqual(['do it']);
    expect(far.keysSeen).toEqual(['old-key']);
    expect(far.ground.renewals).toBe(0);
    expect(far.ground.outcomes).toEqual([status]);
    expect(far.ground.last?.trail.steps).toEqual([]);
    client.socket.destroy();
  });

  test('nor a redirect or an answer without a body', async () => {
    for (const answer of ['302 Found\r\nLocation: /login\r\nContent-Length: 0', '204 No Content']) {
      far.begin();
      far.serve = ({ wire }) => wire.send(`HTTP/1.1 ${answer}\r\n\r\n`);
      const client = far.ask();
      client.send(get);
      await client.until('\r\n\r\n');
      await eventually(() => far.ground.outcomes.length === 1, 'the request is over');
      expect([far.keysSeen, far.ground.renewals]).toEqual([['old-key'], 0]);
      client.socket.destroy();
    }
  });

  test('a 401 is sent again, so that the list above means something', async () => {
    const client = far.ask();
    client.send(post('do it'));
    expect((await client.answer()).body).toBe('fine');
    expect(far.keysSeen).toEqual(['old-key', 'new-key']);
    expect(far.ground.renewals).toBe(1);
    client.socket.destroy();
  });
});
