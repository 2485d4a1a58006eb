// A registration or a renewal is acknowledged after all gateways have heard of it. One that is revoked in that very moment, by
// a gateway that has, must not be there when it is acknowledged.
import { beforeEach, describe, expect, test } from 'vitest';
import type { SharedStore } from '../../../src/path/shared-store.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { gatewayWithWorker, registryOn } from '../../support/redis-registries.ts';
import { RedisServer } from '../../support/redis-server.ts';

let server: RedisServer;
let other: SharedStore;
beforeEach(async () => {
  server = await RedisServer.start();
  other = await openGateway(server, 'other');
});

/** The other gateway removes it as soon as it hears of it, and says only then that it has. */
function revokeAt(isIt: (id: string, expiresAtMs: number) => boolean): Promise<{ unconfirmed: readonly string[] }> {
  return new Promise((resolve, reject) => {
    // It may take longer than others wait: then it is acknowledged first, and removed all the same.
    other.registrations.watch(async (change) => {
      if (change.kind !== 'put' || !isIt(change.registration.id, change.registration.expiresAtMs)) return;
      await other.registrations.remove(change.registration.id).then(resolve, reject);
    });
  });
}

describe('a revocation that is confirmed holds', () => {
  test('also of a sandbox whose registration was not acknowledged yet', async () => {
    const a = await registryOn(await openGateway(server, 'a'), 'a');
    const revoked = revokeAt((id) => id === 'x');
    await Promise.allSettled([a.register({ id: 'x', proof: ['secret'] }), revoked]);
    await eventually(() => a.find('x') === null, 'it is gone');
    // The next one of that name is there.
    other.registrations.watch(() => {});
    await a.register({ id: 'x', proof: ['secret'] });
    expect(a.find('x')).not.toBeNull();
  });

  test('also of one that is being renewed, in the gateway and in its workers', async () => {
    const a = await gatewayWithWorker(server, 'a');
    const { record } = await a.primary.register({ id: 'x', proof: ['secret'] });
    const { expiresAtMs: firstEndMs } = record;
    expect(a.worker.find('x')).not.toBeNull();
    const revoked = revokeAt((_id, expiresAtMs) => expiresAtMs > firstEndMs);
    await Promise.allSettled([a.primary.renew('x'), revoked]);
    await eventually(() => a.primary.find('x') === null, 'it is gone from the gateway');
    await eventually(() => a.worker.find('x') === null, 'it is gone from the worker');
    expect(a.registrations.all()).toEqual([]);
  });
});
