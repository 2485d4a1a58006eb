import { afterEach, beforeEach, expect, test } from 'vitest';
import { askPage, type PageListener } from '../../../support/page-client.ts';
import { type PageGround, startPageGround } from '../../../support/page-ground.ts';

let ground: PageGround;
let listeners: PageListener[];

beforeEach(async () => {
  ground = await startPageGround();
  listeners = [];
});

afterEach(async () => {
  for (const listener of listeners) listener.close();
  await ground.stop();
});

/** By a further address, from the browser that has this cookie. */
async function enterAgain(cookie: string): Promise<{ cookie: string; word: string }> {
  const { origin, pathname, search } = new URL(ground.dashboard.invite());
  const reply = await askPage(origin, `${pathname}${search}`, { headers: { cookie } });
  expect(reply.status).toBe(303);
  return {
    cookie: reply.headers['set-cookie']![0]!.split(';')[0]!,
    word: reply.headers.location!.replace('/#visit=', ''),
  };
}

function state({ cookie, word }: { cookie: string; word: string }): Promise<number> {
  const headers = { cookie, 'x-sallyport-csrf': word };
  return askPage(ground.dashboard.origin, '/api/state', { headers }).then(({ status }) => status);
}

test('addresses opened one after the other do not take all the connections that a browser has', async () => {
  const first = await ground.enter();
  for (let i = 0; i < 3; i++) listeners.push(await first.listen());
  const again = await enterAgain(first.cookie);
  const there = Object.assign(Object.create(first) as typeof first, again);
  for (let i = 0; i < 2; i++) listeners.push(await there.listen());
  // Another browser has connections of its own.
  listeners.push(await (await ground.enter()).listen());
  expect(listeners.map(({ status }) => status)).toEqual([200, 200, 200, 200, 503, 200]);
});

test('a further visit ends neither the pages of the one before nor leaves its cookie and word in force', async () => {
  const first = await ground.enter();
  listeners.push(await first.listen());
  const again = await enterAgain(first.cookie);
  expect(again.cookie).not.toBe(first.cookie);
  expect(await state(again)).toBe(200);
  expect(await state({ cookie: first.cookie, word: first.word })).toBe(401);
  expect(await state({ cookie: again.cookie, word: first.word })).toBe(401);
  expect(await state({ cookie: first.cookie, word: again.word })).toBe(401);
  ground.feed({ id: 'seen-by-both' });
  await listeners[0]!.until<{ lines: { id: string }[] }>('requests', ({ lines }) => lines[0]?.id === 'seen-by-both');
  expect(listeners[0]!.isOver).toBe(false);
});

test('what ends the further visit ends the pages of the one before', async () => {
  const first = await ground.enter();
  listeners.push(await first.listen());
  const again = await enterAgain(first.cookie);
  const headers = { cookie: again.cookie, 'x-sallyport-csrf': again.word, 'content-type': 'application/json' };
  await askPage(ground.dashboard.origin, '/api/leave', { method: 'POST', headers, body: '{}' });
  await expect.poll(() => listeners[0]!.isOver).toBe(true);
  expect(await state(again)).toBe(401);
});
