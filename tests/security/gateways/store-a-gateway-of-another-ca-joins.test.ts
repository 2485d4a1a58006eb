// Who has the address and the password of Redis, but not the key of the CA, is no gateway: it must not start on that store, be
// believed there, nor make a revocation look confirmed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSealedChanges } from '../../../src/gateway/store/redis/sealed-changes.ts';
import { createSealedBox } from '../../../src/kit/sealed-box.ts';
import type { SharedStore } from '../../../src/path/shared-store.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

describe('a gateway with another CA', () => {
  let server: RedisServer;
  let gateway: SharedStore;

  beforeAll(async () => {
    server = await RedisServer.start();
    gateway = await openGateway(server, 'one');
    await gateway.registrations.add(storedRegistration('a'));
  });
  afterAll(() => server.stop());

  test('does not start on the store, and is told what to do', async () => {
    const stranger = openGateway(server, 'stranger', { ca: 'another CA' });
    await expect(stranger).rejects.toThrow(
      /another CA .*fingerprint of the common CA.*copy the folder ca\/.*store\.prefix/,
    );
  });

  test('that lies about its CA reads nothing and writes nothing', async () => {
    await server.cli('SET', 'sallyport:ca', 'fingerprint of another CA');
    const stranger = await openGateway(server, 'liar', { ca: 'another CA' });
    expect(await stranger.registrations.load()).toEqual([]);
    await stranger.registrations.add(storedRegistration('b'));
    expect((await gateway.registrations.load()).map(({ id }) => id)).toEqual(['a']);
    await stranger.vault.put('v', Buffer.from('planted'), 60_000);
    expect(await gateway.vault.get('v')).toBeNull();
    await stranger.close();
    await server.cli('SET', 'sallyport:ca', 'fingerprint of the common CA');
  });

  test('cannot confirm a revocation in the name of a gateway that has not heard of it', async () => {
    await server.cli('HSET', 'sallyport:gateways', 'deaf#1', 'deaf');
    await server.cli('SET', 'sallyport:alive:deaf#1', '1', 'PX', '8000');
    const [instance] = (await server.cli('HKEYS', 'sallyport:gateways'))
      .split('\n')
      .filter((name) => name.startsWith('one#'));
    const forger = createSealedChanges(createSealedBox(Buffer.from('another CA'), 'store'), 'sallyport:');
    const removal = gateway.registrations.remove('a');
    const version = Number(await server.cli('GET', 'sallyport:version'));
    for (const text of [
      forger.sealAcknowledgement(instance!, { from: 'deaf#1', version }),
      JSON.stringify({ from: 'deaf#1', version }),
    ]) {
      // That it was listened to at all: one gateway hears it.
      expect(await server.cli('PUBLISH', `sallyport:acknowledged:${instance}`, text)).toBe('1');
    }
    expect(await removal).toEqual({ unconfirmed: ['deaf'] });
  });
});
