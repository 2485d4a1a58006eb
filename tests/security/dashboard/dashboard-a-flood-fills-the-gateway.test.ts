// Thousands of requests while pages are open, one of which never reads: what is kept stays bounded, what is sent is a sample
// that counts exactly, and the page that does not read is dropped without a word to the others.
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageData } from '../../../src/gateway/dashboard/page-data.ts';
import { FeedSample } from '../../../src/gateway/dashboard/page-streams.ts';
import type { FeedBatch } from '../../../src/gateway/dashboard/shapes.ts';
import { eventually } from '../../support/eventually.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';
import type { PageClient } from '../../support/page-client.ts';
import { aQuestion, fedRecord, type PageGround, startPageGround } from '../../support/page-ground.ts';

let ground: PageGround;
let page: PageClient;

beforeAll(async () => {
  ground = await startPageGround();
  page = await ground.enter();
});

afterAll(() => ground.stop());

test('of thousands at once the page is shown forty, and told how many there were', async () => {
  const stream = await page.listen();
  for (let i = 0; i < 5_000; i++) ground.feed({ path: `/v1/${i}`, sandbox: `s${i % 3}` });
  const total = () =>
    stream.events
      .filter(({ name }) => name === 'requests')
      .reduce((sum, { data }) => sum + (data as FeedBatch).seen, 0);
  await eventually(() => total() === 5_000, 'all of them were counted');
  for (const { name, data } of stream.events) {
    if (name !== 'requests') continue;
    const { lines, shown } = data as FeedBatch;
    expect(lines).toHaveLength(shown);
    expect(shown).toBeLessThanOrEqual(40);
  }
  stream.close();
});

test('a thousand requests a second leave what is kept bounded', async () => {
  let nowMs = 1_800_000_000_000;
  const data = new PageData({
    ports: ground.ports,
    policy: () => handMadePolicy({}),
    isLearning: () => false,
    now: () => nowMs,
  });
  const sample = new FeedSample();
  const large = 'x'.repeat(1_000);
  for (let i = 0; i < 10_000; i++) {
    nowMs += 1;
    const record = fedRecord({
      sandbox: `s${i}`,
      path: `/${i}/${large}`,
      ...(i % 2 === 0 && {
        verdict: 'refused',
        code: `code-${i % 1_000}`,
        rule: `rule ${i}`,
        reason: large,
        hint: large,
      }),
    });
    data.take(record);
    sample.add(record);
  }
  expect(sample.kept).toBeLessThanOrEqual(3 * 40);
  expect(sample.take()).toMatchObject({ seen: 10_000, shown: 40 });
  const { requests, refusals, traffic } = await data.state();
  expect(requests).toHaveLength(200);
  expect(refusals).toHaveLength(200);
  expect(traffic.points).toHaveLength(360);
  expect(traffic.points.reduce((sum, point) => sum + point.requests, 0)).toBe(10_000);
});

test('a page that does not read is dropped; one that reads as much is not', async () => {
  await eventually(() => ground.watching.count === 0, 'the pages before are closed');
  const deaf = await openDeaf();
  expect(ground.watching.count).toBe(1);
  // Every change is a new text of a quarter of a megabyte.
  let rounds = 0;
  const change = (): void => {
    ground.questions.splice(0, 1, aQuestion({ id: `q${++rounds}`, reason: 'x'.repeat(256 * 1024) }));
    ground.tellQuestions();
  };
  await eventually(
    () => {
      change();
      return ground.watching.count === 0;
    },
    'the page that does not read was dropped',
    20_000,
  );
  deaf.destroy();
  const stream = await page.listen();
  for (let more = 0; more < 20; more++) {
    change();
    await stream.until<{ id: string }[]>('questions', ([question]) => question?.id === `q${rounds}`);
  }
  expect(stream.isOver).toBe(false);
  stream.close();
});

test('thousands of sandboxes are more than may wait, and a page that reads is told of them all the same', async () => {
  for (let i = 0; i < 5_000; i++)
    ground.ports.records.set(`s${i}`, { id: `s${i}`, repos: ['owner/of-some-length/repository'.repeat(5)] });
  const stream = await page.listen();
  await stream.until<unknown[]>('sandboxes', (list) => list.length === 5_000);
  await stream.until('approvals', () => true);
  expect(stream.isOver).toBe(false);
  stream.close();
  ground.ports.records.clear();
});

test('at most sixteen pages are open, and the next is told so', async () => {
  await eventually(() => ground.watching.count === 0, 'the pages before are closed');
  const streams = [];
  for (let visitor = 0; visitor < 4; visitor++) {
    const other = await ground.enter();
    for (let i = 0; i < 4; i++) streams.push(await other.listen());
    // A browser has six connections: whoever has more pages open than this could not answer on any of them.
    expect((await other.get('/api/events')).status).toBe(503);
  }
  const more = await page.get('/api/events');
  expect([more.status, more.json<{ hint: string }>().hint]).toEqual([503, 'Close one of them.']);
  for (const stream of streams) stream.close();
  await eventually(() => ground.watching.count === 0, 'all of them are closed');
  (await page.listen()).close();
});

test('connections are bounded, also those that say nothing', async () => {
  const { port } = new URL(page.origin);
  let cut = 0;
  const sockets = Array.from({ length: 80 }, () => connect(Number(port), '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.resume().once('close', () => cut++);
  }
  await eventually(() => cut >= 16, 'what is too many is cut off');
  for (const socket of sockets) socket.destroy();
});

/** A client that asks for the stream and then reads nothing. */
function openDeaf(): Promise<Socket> {
  const { port, host } = new URL(page.origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(`GET /api/events?word=${page.word} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${page.cookie}\r\n\r\n`);
    });
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      socket.pause();
      resolve(socket);
    });
  });
}
