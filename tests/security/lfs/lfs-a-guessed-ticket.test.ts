import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type LfsGround, openLfsGround, repositoryUrl, storedObject } from '../../support/lfs-ground.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterAll(() => ground.stop());

test('what was never handed out opens nothing, and looks like what is over', async () => {
  const { href } = await storedObject(ground);
  const ticket = href.slice(href.lastIndexOf('/') + 1);
  // 128 bits at least: six of them in each letter.
  expect(ticket).toMatch(/^[\w-]{22,}$/);
  const near = `${ticket.slice(0, -1)}${ticket.endsWith('A') ? 'B' : 'A'}`;
  for (const guess of [near, ticket.toUpperCase(), randomBytes(24).toString('base64url'), '__proto__________']) {
    const reply = await ask(ground, `${repositoryUrl}/info/lfs/door/${guess}`);
    expect([reply.status, reply.code]).toEqual([403, 'lfs.ticket']);
  }
  expect(ground.upstream.stored).toEqual([]);
});

test('no two are alike, not even for one object', async () => {
  const hrefs = [await storedObject(ground), await storedObject(ground)].map(({ href }) => href);
  expect(new Set(hrefs).size).toBe(2);
});
