import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openGateway } from '../support/redis-gateways.ts';
import { RedisServer } from '../support/redis-server.ts';
import { storedRegistration } from '../support/store-contract.ts';

const dayMs = 24 * 3600_000;
let server: RedisServer;
const logged: string[] = [];
const log = (line: string) => void logged.push(line);

beforeAll(async () => {
  server = await RedisServer.start({ guarded: true });
});
beforeEach(() => void logged.splice(0));
afterAll(() => server.stop());

describe('a gateway that joins a store', () => {
  test('finds every right that is missing at once, also one that only a script needs, and names the list', async () => {
    for (const right of ['publish', 'zadd', 'hgetall', 'pexpire', 'zrange']) {
      await server.cli('ACL', 'SETUSER', 'gateway', `-${right}`);
      await expect(openGateway(server, 'g'), right).rejects.toThrow(/Give the user the rights that docs\/store\.md/);
      await server.cli('ACL', 'SETUSER', 'gateway', `+${right}`);
    }
  });

  test('whose right is taken away later counts the store as away, and registers nothing', async () => {
    const gateway = await openGateway(server, 'narrowed');
    await server.cli('ACL', 'SETUSER', 'gateway', '-zadd');
    await expect(gateway.registrations.add(storedRegistration('half'))).rejects.toThrow(/can't run/);
    expect(gateway.away?.reason).toContain("can't run");
    await server.cli('ACL', 'SETUSER', 'gateway', '+zadd');
    await gateway.close();
  });

  test('is told of a Redis that throws keys away, and of none that does not', async () => {
    await server.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await (await openGateway(server, 'g', { log })).close();
    expect(logged).toEqual([]);
    await server.cli('CONFIG', 'SET', 'maxmemory', '1gb');
    await (await openGateway(server, 'g', { log })).close();
    expect(logged.join()).toContain('maxmemory-policy allkeys-lru');
    await server.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    logged.splice(0);
    await (await openGateway(server, 'g', { log })).close();
    expect(logged).toEqual([]);
  });

  test('with a clock of its own is told so, takes nothing that is in use, and lets nothing be forgotten', async () => {
    const punctual = await openGateway(server, 'punctual');
    await punctual.registrations.add(storedRegistration('in-use', { expiresAtMs: Date.now() + dayMs }));
    const ahead = await openGateway(server, 'ahead', { log, now: () => Date.now() + 3 * dayMs });
    expect(logged.join()).toContain(' s apart');
    const later = { expiresAtMs: Date.now() + 9 * dayMs };
    expect(await ahead.registrations.add(storedRegistration('in-use', later))).toMatchObject({ holder: 'in-use' });
    expect(await ahead.registrations.add(storedRegistration('of-its-own', later))).toBeNull();
    const fresh = await openGateway(server, 'fresh');
    expect((await fresh.registrations.load()).map(({ id }) => id)).toContain('in-use');
    for (const gateway of [punctual, ahead, fresh]) await gateway.close();
  });

  test('of another CA does not get in after Redis has lost whose it is', async () => {
    const gateway = await openGateway(server, 'g');
    await server.cli('FLUSHALL');
    await eventually(() => server.cli('EXISTS', 'sallyport:ca').then((there) => there === '1'), 'it is said again');
    await expect(openGateway(server, 'h', { ca: 'another' })).rejects.toThrow(/another CA/);
    await gateway.close();
  });
});
