// A gateway that cannot reach Redis serves whom it knows until its grace is over, and hears of no revocation. To the others
// it looks dead: whoever revokes must be told that it may not be.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());

describe('a removal is not called confirmed while somebody may not have heard of it', () => {
  test('a gateway without a heartbeat is named for as long as its grace, and not waited for', async () => {
    const one = await openGateway(server, 'one');
    await server.cli('HSET', 'sallyport:gateways', 'cut-off#1', 'cut-off');
    await server.cli('SET', 'sallyport:grace:cut-off#1', '1', 'PX', '60000');
    // The quickest of some: a busy machine may take its time for one of them. Who is waited for has a second.
    const took: number[] = [];
    for (const id of ['a', 'a2', 'a3']) {
      await one.registrations.add(storedRegistration(id));
      const before = performance.now();
      expect(await one.registrations.remove(id)).toEqual({ unconfirmed: ['cut-off'] });
      took.push(performance.now() - before);
    }
    expect(Math.min(...took)).toBeLessThan(900);
    // Its successor has read everything.
    const successor = await openGateway(server, 'cut-off');
    await one.registrations.add(storedRegistration('b'));
    expect(await one.registrations.remove('b')).toEqual({ unconfirmed: [] });
    await successor.close();
    await server.cli('DEL', 'sallyport:grace:cut-off#1');
    expect(await one.registrations.remove('a')).toEqual({ unconfirmed: [] });
  });

  test('each says how long: its grace and a heartbeat; one that was stopped is named by nobody', async () => {
    const one = await openGateway(server, 'one-more');
    const gone = await openGateway(server, 'gone');
    const [own] = (await server.cli('KEYS', 'sallyport:grace:gone#*')).split('\n');
    const leftMs = Number(await server.cli('PTTL', own!));
    expect(leftMs).toBeGreaterThan(server.settings.graceMs);
    await gone.close();
    expect(await server.cli('EXISTS', own!)).toBe('0');
    await one.registrations.add(storedRegistration('c'));
    expect((await one.registrations.remove('c')).unconfirmed).not.toContain('gone');
  });
});
