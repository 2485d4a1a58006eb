import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { plainAnswer } from '../../support/recording-upstream.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: AttackGround;
let second: { readonly socketPath: string };

beforeAll(async () => {
  ground = await openAttackGround();
  second = await ground.anotherSandbox();
});

afterAll(() => ground.stop());

beforeEach(() => {
  ground.upstream.forget();
  ground.upstream.answerWith(plainAnswer);
});

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: api.example\r\n\r\n`;
const answerOf = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

async function client(): Promise<Wire> {
  return new Wire(await openTls(ground.gateway, 'api.example:443', { caPath: ground.gateway.caPath }));
}

async function otherSandbox(): Promise<Wire> {
  return new Wire(await openTls(second, 'api.example:443', { caPath: ground.gateway.caPath }));
}

async function ask(wire: Wire, path: string): Promise<string> {
  wire.send(get(path));
  return (await wire.answer()).body;
}

function expectTwoConnections(): void {
  const [first, next, ...more] = ground.upstream.requests.map(({ connection }) => connection);
  expect(more).toEqual([]);
  expect(next).not.toBe(first);
}

describe('an answer belongs to the request that was asked, or to nobody', () => {
  test('a second answer behind the first is not the answer to the next request', async () => {
    ground.upstream.answerWith(({ head }) =>
      head.startsWith('GET /one ') ? `${answerOf('first')}${answerOf('planted')}` : answerOf('honest'),
    );
    const wire = await client();
    expect(await ask(wire, '/one')).toBe('first');
    expect(await ask(wire, '/two')).toBe('honest');
    expect(wire.received).toBe('');
    expectTwoConnections();
    wire.socket.destroy();
  });

  test('a second answer that comes while the connection waits ends that connection', async () => {
    let closed = 0;
    ground.upstream.answerWith(({ head }, socket) => {
      if (!head.startsWith('GET /one ')) return answerOf('honest');
      socket.on('close', () => closed++);
      setTimeout(() => socket.write(answerOf('planted')), 20);
      return answerOf('first');
    });
    const wire = await client();
    expect(await ask(wire, '/one')).toBe('first');
    await eventually(() => closed, 'the connection that is out of step is closed');
    expect(await ask(wire, '/two')).toBe('honest');
    expectTwoConnections();
    wire.socket.destroy();
  });

  test.each([
    [
      'a body longer than it says',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted',
    ],
    [
      'bytes behind the last chunk',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n${answerOf('planted')}`,
    ],
    ['a body behind a 204', `HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n${answerOf('planted')}`],
    ['a body behind a 304', `HTTP/1.1 304 Not Modified\r\n\r\n${answerOf('planted')}`],
  ])('%s', async (_what, bytes) => {
    ground.upstream.answerWith(({ head }) => (head.startsWith('GET /one ') ? bytes : answerOf('honest')));
    const wire = await client();
    wire.send(get('/one'));
    await wire.until('\r\n\r\n');
    await eventually(() => ground.upstream.requests.length === 1, 'the first is asked');
    wire.socket.destroy();
    const next = await client();
    expect(await ask(next, '/two')).toBe('honest');
    expectTwoConnections();
    next.socket.destroy();
  });

  test('a kept connection serves its sandbox again, and never another', async () => {
    const mine = await client();
    const theirs = await otherSandbox();
    for (const wire of [mine, theirs, mine, theirs]) expect(await ask(wire, '/shared')).toBe('ok');
    const [a, b, c, d] = ground.upstream.requests.map(({ connection }) => connection);
    expect([c, d]).toEqual([a, b]);
    expect(a).not.toBe(b);
    mine.socket.destroy();
    theirs.socket.destroy();
  });

  test('an answer that is whole before the request is leaves the connection to nobody else', async () => {
    ground.upstream.answerWith(plainAnswer);
    const wire = await client();
    // The far side answers the head of the second request only: its body stays half sent.
    expect(await ask(wire, '/one')).toBe('ok');
    wire.send('POST /early HTTP/1.1\r\nHost: api.example\r\nContent-Length: 90\r\n\r\nGET /hidden HTTP/1.1\r\n');
    await eventually(() => ground.upstream.bytes.includes('/hidden'), 'half of it arrives');
    wire.socket.destroy();
    const next = await client();
    expect(await ask(next, '/two')).toBe('ok');
    expect(ground.upstream.requests.map(({ head }) => head.split(' ', 2)[1])).toEqual(['/one', '/two']);
    next.socket.destroy();
  });
});
