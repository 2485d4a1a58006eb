// What is proven by address is served by the gateway it was registered with alone: a copy of a gateway's home on another
// machine has its name, and would take its addresses for its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());

describe('the name of a gateway is that of one', () => {
  test('a second one of that name does not start, and is told what to do', async () => {
    const first = await openGateway(server, 'copied');
    await expect(openGateway(server, 'copied')).rejects.toThrow(/called copied too.*gateway-name/);
    await first.close();
    await (await openGateway(server, 'copied')).close();
  });

  test('one that was killed is not in the way of its successor for longer than its heartbeat', async () => {
    await server.cli('HSET', 'sallyport:gateways', 'killed#1', 'killed');
    await server.cli('SET', 'sallyport:alive:killed#1', '1', 'PX', '2000');
    const successor = await openGateway(server, 'killed');
    expect(await server.cli('EXISTS', 'sallyport:alive:killed#1')).toBe('0');
    await successor.close();
  });
});
