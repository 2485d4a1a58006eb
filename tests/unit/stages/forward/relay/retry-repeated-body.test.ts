import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../support/eventually.ts';
import { fine, get, Http1Ground, host, post, refused } from './retry-ground.ts';

const far = new Http1Ground();
beforeAll(() => far.open());
afterAll(() => far.close());
beforeEach(() => far.begin());

describe('the body of a request that may be repeated', () => {
  const rough = '5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n';
  const chunked = `POST /x HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n`;

  beforeEach(() => {
    far.serve = async ({ wire }, _, key) => {
      far.bodies.push(await wire.until('\r\n\r\n'));
      wire.send(key === 'old-key' ? refused : fine);
    };
  });

  test('goes out in the same chunks, trailers included', async () => {
    const client = far.ask();
    client.send(`${chunked}${rough}`);
    expect((await client.answer()).body).toBe('fine');
    expect(far.bodies).toEqual([rough, rough]);
  });

  test('goes out whole when a stage has asked for its payload', async () => {
    far.ground.use({ payload: true });
    const client = far.ask();
    client.send(`${chunked}${rough}`);
    expect((await client.answer()).body).toBe('fine');
    for (const body of far.bodies)
      expect(body.replace(/(?:^|(?<=\n))[0-9a-f]+\r\n|\r\n/g, '')).toBe('hello worldX-Sum: 1');
    expect(far.bodies).toHaveLength(2);
  });

  test('is asked for once from a client that waits for 100', async () => {
    const client = far.ask();
    client.send(chunked.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'));
    expect(await client.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.send(rough);
    expect((await client.answer()).head).toMatch(/^HTTP\/1\.1 200 /);
    expect(far.bodies).toEqual([rough, rough]);
  });

  test('is not kept when it is long: the 401 passes on, and the credential is renewed for the next one', async () => {
    far.serve = async ({ wire }, head, key) => {
      await wire.bytes(Number(/content-length: (\d+)/i.exec(head)![1]));
      wire.send(key === 'old-key' ? refused : fine);
    };
    const client = far.ask();
    client.send(post('x'.repeat(4 * 1024 ** 2 + 1)));
    expect((await client.answer()).head).toMatch(/^HTTP\/1\.1 401 /);
    expect(far.heads).toHaveLength(1);
    expect(far.ground.renewals).toBe(1);
    client.send(post('x'.repeat(4 * 1024 ** 2)));
    expect((await client.answer()).head).toMatch(/^HTTP\/1\.1 200 /);
    expect(far.heads).toHaveLength(3);
  });

  test('goes to the second try whole when the first answered before it had all come', async () => {
    const size = 6 * 1024 ** 2;
    far.serve = async ({ wire, socket }, _, key) => {
      if (key === 'old-key') {
        await wire.bytes(1000);
        wire.send(refused);
        socket.pause();
        return;
      }
      far.bodies.push(await wire.bytes(size));
      wire.send(fine);
    };
    let letIt = (_: 'new'): void => {};
    far.ground.use({
      renewal: new Promise((resolve) => {
        letIt = resolve;
      }),
    });
    const client = far.ask();
    const body = Array.from({ length: size / 8 }, (_, i) => String(i).padStart(8, '.')).join('');
    client.send(post(body).slice(0, 2000));
    await eventually(() => far.ground.renewals === 1, 'the credential is asked for');
    client.send(post(body).slice(2000));
    await new Promise((resolve) => setTimeout(resolve, 20));
    letIt('new');
    expect((await client.answer()).body).toBe('fine');
    expect(far.bodies[0] === body).toBe(true);
  });

  test('that is not over when the 401 is passed on leaves nothing half done', async () => {
    far.serve = ({ wire }) => wire.send(refused);
    far.ground.use({ renewal: 'none' });
    const client = far.ask();
    client.send(post('x'.repeat(5000)).slice(0, 3000));
    expect((await client.answer()).body).toBe('too old: ');
    client.send(`${'x'.repeat(5000)}${get}`);
    expect(await client.rest()).toBe('');
    expect(far.heads).toHaveLength(1);
  });

  test('that turns out to be malformed meanwhile breaks the second try off', async () => {
    let letIt = (_: 'new'): void => {};
    far.ground.use({
      renewal: new Promise((resolve) => {
        letIt = resolve;
      }),
    });
    far.serve = ({ wire }) => wire.send(refused);
    const client = far.ask();
    client.send(`${chunked}5\r\nhello\r\n`);
    await eventually(() => far.ground.renewals === 1, 'the credential is asked for');
    client.send('nonsense\r\n');
    await new Promise((resolve) => setTimeout(resolve, 20));
    letIt('new');
    expect(await client.rest()).toMatch(/^HTTP\/1\.1 400 /);
    expect(far.ground.outcomes).toEqual(['malformed.framing']);
  });
});
