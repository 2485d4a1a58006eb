// The page is opened by an address that the admin socket gives out: once, soon, and by nothing else. Who has no session gets
// words and nothing of the gateway, whatever path is asked for.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageSessions } from '../../../src/gateway/dashboard/page-sessions.ts';
import { VisitDoor } from '../../../src/gateway/dashboard/visit-door.ts';
import { VisitTokens } from '../../../src/gateway/dashboard/visit-tokens.ts';
import { askPage, PageClient } from '../../support/page-client.ts';
import { type PageGround, startPageGround } from '../../support/page-ground.ts';

let ground: PageGround;

beforeAll(async () => {
  ground = await startPageGround();
});

afterAll(() => ground.stop());

const everyPath = [
  '/',
  '/page.js',
  '/api/state',
  '/api/events',
  '/api/requests/r1',
  '/api/questions/q1/line',
  '/nothing',
];

test('no cookie, a made-up one, and one of another gateway get words on every path, files and stream too', async () => {
  const { port } = new URL(ground.dashboard.origin);
  const good = (await ground.enter()).cookie;
  const cookies = [
    undefined,
    `sallyport_${port}=${'A'.repeat(43)}`,
    good.replace(`sallyport_${port}=`, 'sallyport_1='),
    `${good}x`,
    good.slice(0, -1),
  ];
  for (const cookie of cookies) {
    for (const path of everyPath) {
      const reply = await askPage(ground.dashboard.origin, path, { headers: { cookie } });
      expect([path, cookie, reply.status]).toEqual([path, cookie, 401]);
      expect(reply.body).toContain('sallyport dashboard');
      expect(reply.body).not.toContain('the page');
    }
    const change = {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: '{"answer":"deny"}',
    };
    expect((await askPage(ground.dashboard.origin, '/api/questions/q1', change)).status).toBe(401);
  }
  expect(ground.answers).toEqual([]);
});

test('a token is good once', async () => {
  const address = ground.dashboard.invite();
  await PageClient.enter(address);
  await expect(PageClient.enter(address)).rejects.toThrow('401');
});

test('a token is good for ten minutes', async () => {
  const address = ground.dashboard.invite();
  ground.clock.aheadMs += 10 * 60_000 + 1;
  await expect(PageClient.enter(address)).rejects.toThrow('401');
});

test('of many addresses given out only the newest few are good', async () => {
  const addresses = Array.from({ length: 9 }, () => ground.dashboard.invite());
  await expect(PageClient.enter(addresses[0]!)).rejects.toThrow('401');
  await expect(PageClient.enter(addresses[1]!)).resolves.toBeDefined();
});

test('wrong tokens are made to wait, and a right one is still let in', async () => {
  const before = ground.paused.count;
  const { origin } = ground.dashboard;
  for (const query of [
    '',
    '?token=',
    '?token=wrong',
    `?token=${'A'.repeat(43)}`,
    `?token=${'A'.repeat(9_000)}`,
    '?Token=x',
  ])
    expect((await askPage(origin, `/enter${query}`)).status).toBe(401);
  expect(ground.paused.count).toBe(before + 6);
  await expect(ground.enter()).resolves.toBeDefined();
});

test('few wrong tokens wait at a time: the others are sent away, and a right one is let in past them', async () => {
  let goOn = (): void => {};
  const gone = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const sessions = new PageSessions();
  const tokens = new VisitTokens();
  const door = new VisitDoor({ tokens, sessions, cookieName: 'c', pause: () => gone });
  const replies = Array.from({ length: 6 }, () => new ServerResponse(new IncomingMessage(new Socket())));
  const wrong = replies.slice(0, 5).map((reply) => door.enter('wrong', null, reply));
  expect(replies.slice(0, 5).map((reply) => reply.writableEnded)).toEqual([false, false, false, false, true]);
  expect(replies[4]!.statusCode).toBe(429);
  await door.enter(tokens.mint(), null, replies[5]!);
  expect(replies[5]!.statusCode).toBe(303);
  goOn();
  await Promise.all(wrong);
  expect(replies.slice(0, 4).map((reply) => reply.statusCode)).toEqual([401, 401, 401, 401]);
});

test('who is in already and comes by the old address again is not sent away, and gets no second session', async () => {
  const address = new URL(ground.dashboard.invite());
  const page = await PageClient.enter(address.href);
  const reply = await page.get(`${address.pathname}${address.search}`);
  expect([reply.status, reply.headers.location, reply.headers['set-cookie']]).toEqual([303, '/', undefined]);
});

test('to look at the head of an address does not use it up, nor lets anybody in', async () => {
  const address = ground.dashboard.invite();
  const { pathname, search } = new URL(address);
  const reply = await askPage(ground.dashboard.origin, `${pathname}${search}`, { method: 'HEAD' });
  expect([reply.status, reply.headers['set-cookie']]).toEqual([401, undefined]);
  await expect(PageClient.enter(address)).resolves.toBeDefined();
});

test('the token leaves the address bar, and the cookie is out of reach of scripts and other sites', async () => {
  const { pathname, search } = new URL(ground.dashboard.invite());
  const reply = await askPage(ground.dashboard.origin, `${pathname}${search}`);
  expect([reply.status, reply.body]).toEqual([303, '']);
  expect(reply.headers.location).toMatch(/^\/#visit=[\w-]{43}$/);
  expect(reply.headers.location).not.toContain(search.slice('?token='.length));
  expect(reply.headers['referrer-policy']).toBe('no-referrer');
  const [pair, ...flags] = reply.headers['set-cookie']![0]!.split('; ');
  expect(pair).toMatch(new RegExp(`^sallyport_${new URL(ground.dashboard.origin).port}=[\\w-]{43}$`));
  expect(flags.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
});

test('a session that nobody uses ends after twelve hours, and one in use does not', async () => {
  const idle = await ground.enter();
  const used = await ground.enter();
  ground.clock.aheadMs += 7 * 3_600_000;
  expect((await used.get('/api/state')).status).toBe(200);
  ground.clock.aheadMs += 6 * 3_600_000;
  expect((await idle.get('/api/state')).status).toBe(401);
  expect((await used.get('/api/state')).status).toBe(200);
});

test('sessions are bounded: the one that was idle longest goes', async () => {
  const first = await ground.enter();
  for (let more = 0; more < 32; more++) await ground.enter();
  expect((await first.get('/api/state')).status).toBe(401);
});
