import { beforeEach, describe, expect, test } from 'vitest';
import type { SharedStore } from '../../src/path/shared-store.ts';
import { type CutLine, lineTo } from '../support/cut-line.ts';
import { eventually } from '../support/eventually.ts';
import { openGateway } from '../support/redis-gateways.ts';
import { RedisServer } from '../support/redis-server.ts';
import { storedRegistration } from '../support/store-contract.ts';

const dayMs = 24 * 3_600_000;
const idsOf = async (store: SharedStore) => (await store.registrations.load()).map(({ id }) => id).sort();

let server: RedisServer;
let line: CutLine;
let old: SharedStore;

beforeEach(async () => {
  server = await RedisServer.start();
  line = await lineTo(server);
  old = await openGateway(line, 'old');
});

async function cutOff(): Promise<void> {
  line.cut();
  await eventually(() => old.away !== null, 'it is cut off');
}

async function comesBack(): Promise<void> {
  line.mend();
  await eventually(() => old.away === null, 'it is back');
}

/** It keeps nothing on disk. */
async function redisComesBackEmpty(): Promise<void> {
  await server.kill();
  await server.restart();
}

async function add(store: SharedStore, id: string, more: Parameters<typeof storedRegistration>[1] = {}) {
  expect(await store.registrations.add(storedRegistration(id, more))).toBeNull();
}

describe('a Redis that has lost its data is told by whichever gateway remembers', () => {
  test('also when a new gateway has registered others there before', async () => {
    await add(old, 'kept-1');
    await add(old, 'kept-2');
    await add(old, 'replaced', { claims: ['id replaced', 'ip 192.0.2.1'] });
    await cutOff();
    await redisComesBackEmpty();
    const fresh = await openGateway(server, 'fresh');
    await add(fresh, 'new', { claims: ['id new', 'ip 192.0.2.1'] });
    await comesBack();
    const all = ['kept-1', 'kept-2', 'new'];
    expect(await idsOf(old)).toEqual(all);
    await eventually(async () => (await idsOf(fresh)).join() === all.join(), 'the new gateway knows them too');
    expect(await idsOf(await openGateway(server, 'later'))).toEqual(all);
  });

  test('also when it was cut off while it told, and the version was all that had arrived', async () => {
    await add(old, 'kept');
    await add(old, 'last');
    await old.registrations.remove('last');
    const version = await server.cli('GET', 'sallyport:version');
    await cutOff();
    await redisComesBackEmpty();
    await server.cli('SET', 'sallyport:version', version);
    await comesBack();
    expect(await idsOf(old)).toEqual(['kept']);
    expect(await idsOf(await openGateway(server, 'later'))).toEqual(['kept']);
  });

  test('but what was removed while a gateway was cut off is not taken for lost', async () => {
    await add(old, 'short');
    await add(old, 'long', { expiresAtMs: Date.now() + 30 * dayMs });
    await add(old, 'kept');
    await cutOff();
    const other = await openGateway(server, 'other');
    for (const id of ['short', 'long']) await other.registrations.remove(id);
    // So that nobody is there who remembers but Redis.
    await other.close();
    await comesBack();
    expect(await idsOf(old)).toEqual(['kept']);
    expect(await idsOf(await openGateway(server, 'later'))).toEqual(['kept']);
    const keptFor = async (id: string) => Number(await server.cli('PTTL', `sallyport:gone:${id}`));
    expect(await keptFor('short')).toBeGreaterThan(dayMs);
    expect(await keptFor('long')).toBeGreaterThan(30 * dayMs);
    expect(await old.registrations.add(storedRegistration('short'))).toBeNull();
    await cutOff();
    await comesBack();
    expect(await idsOf(old)).toEqual(['kept', 'short']);
  });
});
