// Guards: the user's login. Two processes that exchange the same refresh token at once: the second is refused, and a careful
// provider takes it for theft and ends the login.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openKnownLogin } from '../../../src/stages/inject/logins/oauth-open.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { OAuthGround, tokenIn } from '../../unit/stages/inject/logins/oauth-ground.ts';
import { type RenewingGround, startRenewingGround } from './renewing-ground.ts';

let ground: RenewingGround;

beforeAll(async () => {
  ground = await startRenewingGround();
});
afterAll(() => ground.close());

test('three of them renew the same login over and over, and no token is ever sent twice', async () => {
  const rounds = 15;
  const drivers = await Promise.all(Array.from({ length: 3 }, () => ground.start(rounds)));
  // All at once: on a busy machine one would be at its end before another has begun.
  for (const driver of drivers) driver.go();
  await Promise.all(drivers.map(({ ended }) => ended));
  for (const driver of drivers) expect(driver.output()).toBe(`ready\n${'renewed\n'.repeat(rounds)}`);
  expect(ground.faults).toEqual([]);
  expect(ground.refreshInFile()).toBe(ground.current());
  // They did meet, and used what another had got.
  expect(ground.exchanges()).toBeLessThan(3 * rounds);
  expect(ground.exchanges()).toBeGreaterThanOrEqual(rounds);
}, 120_000);

test('two gateways on a Redis that is gone: neither sends it, and one does when it is back', async () => {
  const redis = await RedisServer.start();
  const login = new OAuthGround();
  login.good = 'refresh-token-0';
  const stores = await Promise.all([openGateway(redis, 'one'), openGateway(redis, 'other')]);
  const [one, other] = stores.map((sharing, i) => {
    const claudeAiOauth = { accessToken: 'old', refreshToken: 'refresh-token-0', expiresAt: login.nowMs - 1 };
    const path = login.put(`${i}/credentials.json`, { claudeAiOauth });
    const spec = { kind: 'login', agent: 'claude', path, provider: null } as const;
    return openKnownLogin('anthropic', spec, { ...login.deps, sharing });
  });
  await redis.kill();
  await eventually(() => stores.every(({ away }) => away !== null), 'both notice');
  for (const source of [one!, other!]) {
    await expect(tokenIn(source.current())).rejects.toThrow(/its refresh token was not used/);
  }
  expect(login.asked).toEqual([]);
  await redis.restart();
  await eventually(() => stores.every(({ away }) => away === null), 'the store is there again');
  login.pass(60);
  expect(await Promise.all([tokenIn(one!.current()), tokenIn(other!.current())])).toEqual(
    Array(2).fill('access-token-1'),
  );
  expect(login.asked).toHaveLength(1);
  login.end();
});
