// What was sealed once stays sealed rightly: a copy of it, put back into Redis after the sandbox was unregistered, must open
// nothing at the gateways that have seen the removal, and must not stay there for those that come later.
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RegistrationChange, SharedStore } from '../../../src/path/shared-store.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

describe('a registration that was removed stays removed', () => {
  let server: RedisServer;
  let one: SharedStore;
  let other: SharedStore;
  const seen: RegistrationChange[] = [];
  const messages: string[] = [];
  let copy = '';

  beforeAll(async () => {
    server = await RedisServer.start();
    const tap = createClient({ socket: { host: '127.0.0.1', port: server.port, reconnectStrategy: false } });
    tap.on('error', () => {});
    await tap.connect();
    await tap.subscribe('sallyport:changes', (message) => messages.push(message));
    one = await openGateway(server, 'one');
    other = await openGateway(server, 'other');
    await one.registrations.add(storedRegistration('gone', { claims: ['id gone', 'ip 192.0.2.7'] }));
    copy = await server.cli('HGET', 'sallyport:registration:gone', 'sealed');
    expect(await one.registrations.remove('gone')).toEqual({ unconfirmed: [] });
    await eventually(() => messages.length === 2, 'both changes were overheard');
    tap.destroy();
    other.registrations.watch((change) => seen.push(change));
  });
  afterAll(() => server.stop());

  test('when the message that told of it is sent again', async () => {
    await server.cli('PUBLISH', 'sallyport:changes', messages[0]!);
    // A change of our own, which comes after it.
    await one.registrations.add(storedRegistration('after'));
    expect(seen.map((change) => (change.kind === 'put' ? change.registration.id : change.kind))).toEqual(['after']);
    for (const store of [one, other]) expect((await store.registrations.load()).map(({ id }) => id)).toEqual(['after']);
  });

  test('when its record is written back, which then disappears again', async () => {
    await server.cli(
      'HSET',
      'sallyport:registration:gone',
      'version',
      '1',
      'expires',
      '9e15',
      'claims',
      '',
      'sealed',
      copy,
    );
    await server.cli('ZADD', 'sallyport:registrations', '9000000000000', 'gone');
    await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(() => seen.some(({ kind }) => kind === 'all'), 'everything is read again');
    await eventually(
      async () => (await server.cli('EXISTS', 'sallyport:registration:gone')) === '0',
      'it is removed again',
    );
    for (const store of [one, other]) {
      await eventually(() => store.away === null, 'there again');
      expect((await store.registrations.load()).map(({ id }) => id)).toEqual(['after']);
    }
    expect((await (await openGateway(server, 'later')).registrations.load()).map(({ id }) => id)).toEqual(['after']);
  });

  test('and the message of its removal ends no later registration of the same name', async () => {
    expect(await one.registrations.add(storedRegistration('gone'))).toBeNull();
    await server.cli('PUBLISH', 'sallyport:changes', messages[1]!);
    await one.registrations.add(storedRegistration('last'));
    for (const store of [one, other]) expect((await store.registrations.load()).map(({ id }) => id)).toContain('gone');
  });
});
