// Guards: the user's login. Two processes that exchange the same refresh token at once: the second is refused, and a careful
// provider takes it for theft and ends the login.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RenewingGround, startRenewingGround } from './renewing-ground.ts';

let ground: RenewingGround;

beforeAll(async () => {
  ground = await startRenewingGround();
});
afterAll(() => ground.close());

test('three of them renew the same login over and over, and no token is ever sent twice', async () => {
  const rounds = 15;
  const drivers = Array.from({ length: 3 }, () => ground.start(rounds));
  await Promise.all(drivers.map(({ ended }) => ended));
  for (const driver of drivers) expect(driver.output()).toBe(`ready\n${'renewed\n'.repeat(rounds)}`);
  expect(ground.faults).toEqual([]);
  expect(ground.refreshInFile()).toBe(ground.current());
  // They did meet, and used what another had got.
  expect(ground.exchanges()).toBeLessThan(3 * rounds);
  expect(ground.exchanges()).toBeGreaterThanOrEqual(rounds);
}, 60_000);
