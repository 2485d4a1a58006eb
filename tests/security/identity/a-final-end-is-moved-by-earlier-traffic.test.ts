// Renewals by traffic are collected for a moment. What a sandbox has collected must not prolong the next registration of the
// same id, whose end may be final.
import { beforeEach, describe, expect, test } from 'vitest';
import type { SandboxRegistry } from '../../../src/stages/identify/registry/registry.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { gatewayWithWorker, registryOn } from '../../support/redis-registries.ts';
import { RedisServer } from '../../support/redis-server.ts';

const hour = 3_600_000;
let server: RedisServer;
beforeEach(async () => {
  server = await RedisServer.start();
});

function sendsSomething(registry: SandboxRegistry, id: string): void {
  const record = registry.find(id)!;
  // Told long ago.
  record.storedExpiresAtMs = 0;
  registry.touch(record);
}

async function registerAgain(registry: SandboxRegistry, id: string): Promise<number> {
  await registry.remove(id);
  const endMs = Date.now() + hour;
  await registry.register({ id, proof: ['secret'], expires_at: new Date(endMs).toISOString() });
  return endMs;
}

describe('a final end stays where it is', () => {
  test('in Redis and at the other gateways', async () => {
    const store = await openGateway(server, 'a');
    const a = await registryOn(store, 'a');
    const b = await registryOn(await openGateway(server, 'b'), 'b');
    await a.register({ id: 'x', proof: ['secret'] });
    await a.register({ id: 'after', proof: ['secret'] });
    sendsSomething(a, 'x');
    const endMs = await registerAgain(a, 'x');
    // Written after what was wanted before.
    store.registrations.extend('after', Date.now() + 48 * hour);
    await eventually(() => b.find('after')!.expiresAtMs > Date.now() + 40 * hour, 'renewals are written');
    expect(Number(await server.cli('HGET', 'sallyport:registration:x', 'expires'))).toBe(endMs);
    for (const registry of [a, b]) expect(registry.find('x')!.expiresAtMs).toBe(endMs);
  });

  test('nor does its own traffic move it, nor a renewal, at any gateway', async () => {
    const store = await openGateway(server, 'a');
    const a = await registryOn(store, 'a');
    const b = await registryOn(await openGateway(server, 'b'), 'b');
    const endMs = Date.now() + hour;
    await a.register({ id: 'x', proof: ['secret'], expires_at: new Date(endMs).toISOString() });
    await a.register({ id: 'open', proof: ['secret'] });
    await eventually(() => b.find('x') !== null && b.find('open') !== null, 'both know them');
    for (const registry of [a, b]) {
      sendsSomething(registry, 'x');
      await expect(registry.renew('x')).rejects.toThrow('which is final');
    }
    // Were it told that it moved, its own word would still count: it says that it is final. One whose end is open does move.
    store.registrations.extend('x', endMs + hour);
    store.registrations.extend('open', Date.now() + 48 * hour);
    await eventually(() => b.find('open')!.expiresAtMs > Date.now() + 40 * hour, 'renewals are written');
    const c = await registryOn(await openGateway(server, 'c'), 'c');
    for (const registry of [a, b, c]) expect(registry.find('x')!.expiresAtMs).toBe(endMs);
  });

  test('in the gateway and its workers, when it was a worker that had served the earlier one', async () => {
    const a = await gatewayWithWorker(server, 'a');
    const endOf = (id: string) => a.registrations.all().find((one) => one.id === id)!.expiresAtMs;
    await a.primary.register({ id: 'x', proof: ['secret'] });
    const { record } = await a.primary.register({ id: 'after', proof: ['secret'] });
    await eventually(() => Date.now() + 24 * hour > record.expiresAtMs, 'the clock has moved');
    sendsSomething(a.worker, 'x');
    const endMs = await registerAgain(a.primary, 'x');
    const before = endOf('after');
    sendsSomething(a.worker, 'after');
    await eventually(() => endOf('after') > before, 'renewals are told');
    expect(endOf('x')).toBe(endMs);
    for (const registry of [a.primary, a.worker]) expect(registry.find('x')!.expiresAtMs).toBe(endMs);
  });
});
