import { expect, test } from 'vitest';
import { RequestTime } from '../../../../src/gateway/build/request-time.ts';
import type { Perishable, Sweeper } from '../../../../src/kit/sweeper.ts';
import { Trail } from '../../../../src/path/trail.ts';
import { beginWaiting, waitedMs } from '../../../../src/stages/authorize/limits/waiting-time.ts';

/** A sweeper whose clock is the test's. */
function sweeperAt(): Sweeper & { members: Set<Perishable>; nowMs: number; sweep(): void } {
  const members = new Set<Perishable>();
  const made = {
    members,
    nowMs: 0,
    join: (member: Perishable) => members.add(member),
    leave: (member: Perishable) => members.delete(member),
    sweep: () => {
      for (const member of [...members]) if (member.deadlineMs <= made.nowMs) member.expire();
    },
  };
  return made as unknown as ReturnType<typeof sweeperAt>;
}

test('the time in which a person was asked is not the time of the request', () => {
  const sweeper = sweeperAt();
  let held = 0;
  const over: string[] = [];
  const clock = new RequestTime(sweeper, () => 1000).start(
    ({ code }) => over.push(code),
    () => held,
  );
  const ends = [...sweeper.members][0]!.deadlineMs;
  sweeper.nowMs = ends;
  held = 5_000;
  sweeper.sweep();
  expect(over).toEqual([]);
  sweeper.nowMs = ends + 4_999;
  sweeper.sweep();
  expect(over).toEqual([]);
  sweeper.nowMs = ends + 5_000;
  sweeper.sweep();
  expect(over).toEqual(['limit.request-time']);
  expect(clock!.stop()).toBe(false);
});

test('waiting is counted while it lasts, and stays counted', () => {
  const trail = new Trail(0);
  expect(waitedMs(trail)).toBe(0);
  const end = beginWaiting(trail);
  const from = performance.now();
  while (performance.now() === from);
  expect(waitedMs(trail)).toBeGreaterThan(0);
  end();
  const waited = waitedMs(trail);
  expect(waited).toBeGreaterThan(0);
  expect(waitedMs(trail)).toBe(waited);
  beginWaiting(trail)();
  expect(waitedMs(trail)).toBeGreaterThanOrEqual(waited);
});
