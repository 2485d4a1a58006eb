import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendPlain, sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const host = 'Host: api.example\r\n';

const requests: [string, string, string][] = [
  ['HTTP/0.9', 'GET /\r\n', 'malformed.syntax'],
  ['HTTP/1.0', `GET / HTTP/1.0\r\n${host}\r\n`, 'malformed.version'],
  ['HTTP/1.0 kept alive', `GET / HTTP/1.0\r\n${host}Connection: keep-alive\r\n\r\n`, 'malformed.version'],
  [
    'HTTP/1.0 with chunks',
    `POST / HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'malformed.framing',
  ],
  ['HTTP/1.2', `GET / HTTP/1.2\r\n${host}\r\n`, 'malformed.version'],
  ['HTTP/2.0 in HTTP/1.1 dress', `GET / HTTP/2.0\r\n${host}\r\n`, 'malformed.version'],
  ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'malformed.version'],
  ['a lower-case protocol', `GET / http/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['two spaces before the target', `GET  / HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a tab before the target', `GET\t/ HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a space in the target', `GET /a b HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a space before the method', ` GET / HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['an empty line before the method', `\r\nGET / HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a space behind the version', `GET / HTTP/1.1 \r\n${host}\r\n`, 'malformed.syntax'],
  ['a line that ends in LF', `GET / HTTP/1.1\n${host}\r\n`, 'malformed.syntax'],
  ['fields that end in LF', 'GET / HTTP/1.1\r\nHost: api.example\n\n', 'malformed.syntax'],
  ['a NUL in the target', `GET /\0 HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a byte above ASCII in the target', `GET /\xe9 HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a NUL in a value', `GET / HTTP/1.1\r\n${host}X: a\0b\r\n\r\n`, 'malformed.syntax'],
  ['a NUL in a name', `GET / HTTP/1.1\r\n${host}X\0: b\r\n\r\n`, 'malformed.syntax'],
  ['a folded field', `GET / HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`, 'malformed.syntax'],
  ['a space before the colon', `GET / HTTP/1.1\r\n${host}X : a\r\n\r\n`, 'malformed.syntax'],
  ['a line without a colon', `GET / HTTP/1.1\r\n${host}X\r\n\r\n`, 'malformed.syntax'],
  ['a line without a name', `GET / HTTP/1.1\r\n${host}: a\r\n\r\n`, 'malformed.syntax'],
  ['a lower-case method', `get / HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a method in mixed case', `DeLETE / HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['a method of odd letters', `G!T / HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['CONNECT inside the connection', `CONNECT open.example:443 HTTP/1.1\r\n${host}\r\n`, 'malformed.syntax'],
  ['an asterisk for a target', `OPTIONS * HTTP/1.1\r\n${host}\r\n`, 'malformed.path'],
  ['a target of another scheme', `GET ftp://api.example/ HTTP/1.1\r\n${host}\r\n`, 'malformed.path'],
  ['a target without a slash', `GET api.example/ HTTP/1.1\r\n${host}\r\n`, 'malformed.path'],
  ['a fragment', `GET /a#b HTTP/1.1\r\n${host}\r\n`, 'malformed.path'],
  ['no Host', 'GET / HTTP/1.1\r\nX: y\r\n\r\n', 'mismatch.authority'],
  ['two Hosts that differ', `GET / HTTP/1.1\r\n${host}Host: open.example\r\n\r\n`, 'mismatch.authority'],
  ['two Hosts that agree', `GET / HTTP/1.1\r\n${host}${host}\r\n`, 'mismatch.authority'],
  ['an unknown expectation', `GET / HTTP/1.1\r\n${host}Expect: something\r\n\r\n`, 'malformed.expect'],
  [
    'an upgrade to something else',
    `GET / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: tls\r\n\r\n`,
    'malformed.syntax',
  ],
  [
    'an upgrade by POST',
    `POST / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    'malformed.syntax',
  ],
];

describe('a head that can be read in two ways reaches nobody', () => {
  test.each(requests)('%s', async (_what, bytes, code) => {
    ground.upstream.forget();
    const answer = await sendTunnelled(ground.gateway, 'api.example', bytes);
    expect(answer.statuses).toEqual([400]);
    expect(answer.code).toBe(code);
    expect(ground.upstream.bytes).toBe('');
    expect(answer.closed).toBe(true);
  });

  test('a CONNECT with a body, which would be the first bytes of the tunnel', async () => {
    const head = 'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n';
    for (const field of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
      const answer = await sendPlain(ground.gateway, `${head}${field}\r\n\r\n0\r\n\r\n`);
      expect([answer.statuses, answer.code, answer.closed]).toEqual([[400], 'malformed.framing', true]);
    }
  });

  test('the same client, well-formed, gets through', async () => {
    ground.upstream.forget();
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect(answer.statuses).toEqual([200]);
    expect(ground.upstream.requests.length).toBe(1);
  });
});
