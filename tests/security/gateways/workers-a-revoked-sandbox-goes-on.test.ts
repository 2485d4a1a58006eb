// The workers of a gateway serve what they were last told. Whatever happens to Redis and to the other gateways meanwhile, a
// sandbox that was revoked must not come back to them, and no other gateway must hear that it is gone while they serve it.
import { beforeEach, describe, expect, test } from 'vitest';
import { SharedRegistrations } from '../../../src/gateway/workers/shared-registrations.ts';
import { lineTo } from '../../support/cut-line.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { gatewayWithWorker, registryOn } from '../../support/redis-registries.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

let server: RedisServer;
beforeEach(async () => {
  server = await RedisServer.start();
});

describe('a revoked sandbox stays revoked in the workers', () => {
  test('of a gateway that was cut off, although another one renewed it meanwhile', async () => {
    const line = await lineTo(server);
    const a = await gatewayWithWorker(line, 'a');
    const b = await registryOn(await openGateway(server, 'b'), 'b');
    await a.primary.register({ id: 'revoked', proof: ['secret'] });
    await a.primary.register({ id: 'kept', proof: ['secret'] });
    await eventually(() => b.find('revoked') !== null && b.find('kept') !== null, 'the other gateway knows both');
    line.cut();
    await eventually(() => a.store.away !== null, 'it is cut off');
    await a.primary.remove('revoked');
    expect(a.worker.find('revoked')).toBeNull();
    // Later than the removal, by the clock too.
    const atMs = Date.now();
    await eventually(() => Date.now() > atMs, 'the clock has moved');
    await b.renew('revoked');
    line.mend();
    await eventually(() => a.store.away === null, 'it is back');
    await eventually(() => b.find('revoked') === null, 'the removal has come to the other gateway');
    await b.register({ id: 'after', proof: ['secret'] });
    await eventually(() => a.worker.find('after') !== null, 'the worker has heard of all before that');
    expect(a.worker.list().map(({ id }) => id)).toEqual(['kept', 'after']);
    expect(a.primary.find('revoked')).toBeNull();
  });
});

describe('a revocation is not called confirmed while a worker may serve', () => {
  test('a gateway whose worker has not let go is named; one whose workers have is not', async () => {
    const one = await openGateway(server, 'one');
    const other = await openGateway(server, 'other');
    const registrations = new SharedRegistrations(other.registrations, 600_000);
    registrations.watch(() => {});
    const heard: string[] = [];
    const follower = { name: 'a worker', end: async () => {} };
    registrations.follow({}, { ...follower, changed: async ({ kind }) => heard.push(kind) });
    await one.registrations.add(storedRegistration('x'));
    expect(await one.registrations.remove('x')).toEqual({ unconfirmed: [] });
    expect(heard).toEqual(['put', 'gone']);
    await one.registrations.add(storedRegistration('y'));
    registrations.follow({}, { ...follower, changed: () => new Promise(() => {}) });
    const { unconfirmed } = await one.registrations.remove('y');
    expect(unconfirmed).toEqual(['other']);
  });
});
