// Whoever can write to Redis would be a sandbox of their choice if a gateway believed what it finds there.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSealedChanges } from '../../../src/gateway/store/redis/sealed-changes.ts';
import { createSealedBox } from '../../../src/kit/sealed-box.ts';
import type { RegistrationChange, SharedStore } from '../../../src/path/shared-store.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

describe('a writer in Redis registers nobody', () => {
  let server: RedisServer;
  let gateway: SharedStore;
  const seen: RegistrationChange[] = [];
  const log: string[] = [];
  const forger = createSealedChanges(createSealedBox(Buffer.from('a key of the forger'), 'store'), 'sallyport:');
  const forged = { version: Date.now() + 1_000_000, registration: storedRegistration('forged') };

  beforeAll(async () => {
    server = await RedisServer.start();
    gateway = await openGateway(server, 'one', { log: (line) => log.push(line) });
    await gateway.registrations.add(storedRegistration('mine', { body: '{"may":"much"}' }));
    await gateway.registrations.add(storedRegistration('other', { body: '{"may":"little"}' }));
    gateway.registrations.watch((change) => seen.push(change));
  });
  afterAll(() => server.stop());

  const plant = async (id: string, sealed: string) => {
    await server.cli('HSET', `sallyport:registration:${id}`, 'version', '1', 'expires', '9e15', 'sealed', sealed);
    await server.cli('ZADD', 'sallyport:registrations', '9000000000000', id);
  };
  /** Its connection cut, it reads everything again. */
  const reread = async () => {
    seen.length = 0;
    await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const all = await eventually(() => seen.find(({ kind }) => kind === 'all'), 'everything is read again');
    return all.kind === 'all' ? all.registrations : [];
  };

  test('not by a record, nor by a message, sealed with another key or not at all', async () => {
    await plant('forged', forger.sealRegistration(forged));
    await plant('plain', JSON.stringify(forged));
    for (const text of [forger.sealChange({ kind: 'put', from: 'x', put: forged }), JSON.stringify(forged), '', '{}']) {
      await server.cli('PUBLISH', 'sallyport:changes', text);
      await server.cli('PUBLISH', 'sallyport:changes', text);
    }
    expect((await reread()).map(({ id }) => id).sort()).toEqual(['mine', 'other']);
    expect(seen.filter(({ kind }) => kind === 'put')).toEqual([]);
    expect((await (await openGateway(server, 'two')).registrations.load()).map(({ id }) => id).sort()).toEqual([
      'mine',
      'other',
    ]);
  });

  test('what was found is in the log, once for each kind', () => {
    expect(log.filter((line) => line.includes('a change that no gateway of this CA has written'))).toHaveLength(1);
    expect(log.filter((line) => line.includes('a registration that no gateway of this CA has written'))).toHaveLength(
      1,
    );
  });

  test('not by giving the record of one sandbox to another', async () => {
    const rich = await server.cli('HGET', 'sallyport:registration:mine', 'sealed');
    await plant('other', rich);
    await plant('third', rich);
    const found = await reread();
    expect(found.find(({ id }) => id === 'third')).toBeUndefined();
    // One that does not open is gone, never another.
    for (const { id, body } of found) expect(body).toBe(id === 'mine' ? '{"may":"much"}' : '{"may":"little"}');
    const fresh = await openGateway(server, 'three');
    expect((await fresh.registrations.load()).map(({ id }) => id)).toEqual(['mine']);
  });

  test('nor can anyone else unregister by a message', async () => {
    const gone = { kind: 'gone', from: 'x', id: 'mine', version: forged.version } as const;
    await server.cli('PUBLISH', 'sallyport:changes', forger.sealChange(gone));
    await server.cli('PUBLISH', 'sallyport:changes', JSON.stringify(gone));
    await reread();
    expect(seen.filter(({ kind }) => kind === 'gone')).toEqual([]);
    expect((await gateway.registrations.load()).map(({ id }) => id)).toContain('mine');
  });
});
