import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { eventually } from '../../../../support/eventually.ts';
import { settle } from '../../../../support/settle.ts';
import { fine, get, Http1Ground, host, post, refused } from './retry-ground.ts';

const far = new Http1Ground();
beforeAll(() => far.open());
afterAll(() => far.close());
beforeEach(() => far.begin());

describe('a request that is answered 401', () => {
  test('goes out once more with a renewed credential, and the client sees the second answer alone', async () => {
    const client = far.ask();
    client.send(get);
    expect(await client.answer()).toMatchObject({ head: expect.stringContaining('200 OK'), body: 'fine' });
    expect(far.keysSeen).toEqual(['old-key', 'new-key']);
    expect(far.ground.renewals).toBe(1);
    expect(far.ground.last?.renewed?.headers.get('authorization')).toBe('Bearer new-key');
    expect(far.ground.last?.trail.steps.map(([stage, , outcome]) => `${stage} ${outcome}`)).toEqual(['renew ok']);
    client.send(get);
    expect((await client.answer()).body).toBe('fine');
  });

  test('takes its body with it, whatever its method is', async () => {
    const client = far.ask();
    client.send(post('a body of some length'));
    expect((await client.answer()).body).toBe('fine');
    expect(far.bodies).toEqual(['a body of some length', 'a body of some length']);
    expect(far.ground.outcomes).toEqual([200]);
  });

  test('is repeated once: a second 401 is passed on', async () => {
    far.serve = ({ wire }) => wire.send(refused);
    const client = far.ask();
    client.send(get);
    expect((await client.answer()).head).toMatch(/^HTTP\/1\.1 401 /);
    expect(far.keysSeen).toEqual(['old-key', 'new-key']);
    expect(far.ground.renewals).toBe(1);
  });

  test('passes on as it came when the renewal takes too long', async () => {
    far.ground.use({ renewal: new Promise(() => {}) });
    const client = far.ask();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      client.send(get);
      while (far.ground.renewals === 0) await new Promise((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(20_000);
    } finally {
      vi.useRealTimers();
    }
    expect((await client.answer()).head).toMatch(/^HTTP\/1\.1 401 /);
    expect(far.heads).toHaveLength(1);
  });

  test.each(['none', 'failure'] as const)('passes on as it came when the renewal gives %s', async (renewal) => {
    far.ground.use({ renewal });
    const client = far.ask();
    client.send(post('body'));
    const { head, body } = await client.answer();
    expect(head).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
    expect(head).toContain('WWW-Authenticate: Bearer');
    expect(body).toBe('too old: ');
    expect(far.heads).toHaveLength(1);
    expect(far.ground.outcomes).toEqual([401]);
  });

  test('is searched for the credential of the try that it answers', async () => {
    const echo = (status: string, text: string): string =>
      `HTTP/1.1 ${status}\r\nX-Echo: ${text}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    far.serve = ({ wire }, _, key) => wire.send(echo(key === 'old-key' ? '401 no old-key' : '200 OK', `it is ${key}`));
    const client = far.ask();
    client.send(get);
    const second = await client.answer();
    expect(second.head).toContain('X-Echo: it is *******\r\n');
    expect(second.body).toBe('it is *******');
    far.ground.use({ renewal: 'none' });
    client.send(get);
    const first = await client.answer();
    expect(first.head).toContain('401 no *******\r\n');
    expect(first.body).toBe('it is *******');
  });
});

describe('an answer that is held', () => {
  const long = (count: number): string =>
    `HTTP/1.1 401 Unauthorized\r\nContent-Length: ${count}\r\n\r\n${'y'.repeat(count)}`;

  test('is passed on whole, however long it is', async () => {
    far.ground.use({ renewal: 'none' });
    far.serve = ({ wire }) => wire.send(long(700_000));
    const client = far.ask();
    client.send(get);
    expect((await client.answer()).body).toBe('y'.repeat(700_000));
    expect(far.ground.outcomes).toEqual([401]);
  });

  test('is not waited for when it has no end and is not needed', async () => {
    far.serve = ({ wire }, _, key) => wire.send(key === 'old-key' ? long(700_000).slice(0, 500_000) : fine);
    const client = far.ask();
    client.send(get);
    expect((await client.answer()).body).toBe('fine');
  });

  test('that breaks off does not keep the second try from being made', async () => {
    let letIt = (_: 'new'): void => {};
    far.ground.use({
      renewal: new Promise((resolve) => {
        letIt = resolve;
      }),
    });
    far.serve = async ({ wire, socket }, _, key) => {
      if (key !== 'old-key') return wire.send(fine);
      wire.send(refused.replace('9', '90'));
      await eventually(() => far.ground.renewals === 1, 'the credential is asked for');
      socket.destroy();
      setTimeout(letIt, 20, 'new');
    };
    const client = far.ask();
    client.send(get);
    expect((await client.answer()).body).toBe('fine');
  });

  test('that breaks off is a failure of the upstream when there is no second try', async () => {
    let letIt = (_: 'none'): void => {};
    far.ground.use({
      renewal: new Promise((resolve) => {
        letIt = resolve;
      }),
    });
    far.serve = async ({ wire, socket }) => {
      wire.send(refused.replace('9', '90'));
      await eventually(() => far.ground.renewals === 1, 'the credential is asked for');
      socket.end();
      await settle(20);
      letIt('none');
    };
    const client = far.ask();
    client.send(get);
    expect((await client.answer()).head).toMatch(/^HTTP\/1\.1 502 /);
    expect(far.ground.outcomes).toEqual(['upstream.closed']);
  });

  test('is forgotten when the client goes away: nothing goes out again', async () => {
    let letIt = (_: 'new'): void => {};
    far.ground.use({
      renewal: new Promise((resolve) => {
        letIt = resolve;
      }),
    });
    const client = far.ask();
    client.send(post('body'));
    await eventually(() => far.ground.renewals === 1, 'the credential is asked for');
    client.socket.destroy();
    await eventually(() => far.ground.outcomes.length === 1, 'the request is over');
    expect(far.ground.outcomes).toEqual(['ClientGone']);
    letIt('new');
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(far.heads).toHaveLength(1);
  });
});

describe('an upgrade that is answered 401', () => {
  test('is asked for once more, and what is said after it passes both ways', async () => {
    far.serve = async ({ wire }, _, key) => {
      if (key === 'old-key') return wire.send(refused);
      wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      far.bodies.push(await wire.bytes(6));
      await wire.until('no such mark');
    };
    const client = far.ask();
    client.send(`GET /x HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    expect(await client.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 101 /);
    // An empty text frame, masked.
    client.send('\x81\x80\x00\x00\x00\x00');
    await eventually(() => far.bodies.length === 1, 'the frame has come through');
    expect(far.keysSeen).toEqual(['old-key', 'new-key']);
    client.socket.destroy();
    await eventually(() => far.ground.outcomes.length === 1, 'the request is over');
    expect(far.ground.outcomes).toEqual([101]);
  });
});

describe('an answer of our own', () => {
  const answer = {
    status: 200,
    headers: HeaderList.from([['Content-Type', 'application/json']]),
    body: Buffer.from('{"own":true}'),
  };

  test('is given without asking anybody', async () => {
    const before = far.upstream.connections;
    far.ground.use({ answer });
    const client = far.ask();
    client.send(post('grant_type=refresh_token'));
    const { head, body } = await client.answer();
    expect(head).toContain('Content-Type: application/json');
    expect(body).toBe('{"own":true}');
    client.send(get.replace('GET', 'HEAD'));
    expect(await client.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    client.send(get);
    expect((await client.answer()).body).toBe('{"own":true}');
    expect(far.upstream.connections).toBe(before);
    expect(far.heads).toEqual([]);
    expect(far.ground.outcomes).toEqual([200, 200, 200]);
    expect(far.ground.last).toMatchObject({ status: 200, upstreamAddress: null });
  });
});
