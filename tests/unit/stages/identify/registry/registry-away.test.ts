import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Caller, Identified } from '../../../../../src/path/flow.ts';
import type { RegistrationStore } from '../../../../../src/path/shared-store.ts';
import { createIdentifyStage } from '../../../../../src/stages/identify/identify-stage.ts';
import { SandboxRegistry } from '../../../../../src/stages/identify/registry/registry.ts';
import { acceptedFlow, basic, callerFrom, canonicalOf, refusalOf } from '../../../../support/hand-made-flow.ts';
import { TestClock } from '../../../../support/memory-registry.ts';
import {
  openSharingGateway,
  SharedRegistrations,
  type SharingGateway,
} from '../../../../support/shared-registrations.ts';

const graceMs = 60_000;
let shared: SharedRegistrations;
let a: SharingGateway;
let b: SharingGateway;
let sinceStartMs: number;
let call: (caller: Caller) => string;

beforeEach(async () => {
  const clock = new TestClock();
  shared = new SharedRegistrations();
  sinceStartMs = 1_000;
  a = await openSharingGateway(shared, 'gateway-a', clock, { sinceStartMs: () => sinceStartMs });
  b = await openSharingGateway(shared, 'gateway-b', clock);
  const stage = createIdentifyStage(a.registry);
  call = (caller) =>
    (stage.run(acceptedFlow(caller, canonicalOf('GET', 'https://api.example.com/'))) as Identified).sandbox.id;
});

afterEach(() => {
  a.registry.close();
  b.registry.close();
});

async function registered(id: string): Promise<Caller> {
  const { secret } = await b.registry.register({ id, proof: ['secret'] });
  return callerFrom({ address: '192.0.2.9', proxyAuthorization: basic(id, secret!) });
}

describe('while the store is away', () => {
  test('a sandbox that this gateway has served is served on, until the grace is over', async () => {
    const met = await registered('met');
    expect(call(met)).toBe('met');
    a.view.leave(sinceStartMs);
    // The same connection, and another one.
    expect(call(met)).toBe('met');
    sinceStartMs += graceMs;
    expect(call({ ...met })).toBe('met');
    sinceStartMs += 1;
    for (const caller of [met, { ...met }]) {
      expect(refusalOf(() => call(caller))).toMatchObject({ code: 'store.unavailable', status: 500 });
    }
    a.view.comeBack();
    expect(call(met)).toBe('met');
  });

  test('what was open is ended when the grace is over, of those that need the store, and nothing when it came back in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lapsed: string[] = [];
    a.registry.onLapsed((id) => lapsed.push(id));
    call(await registered('met'));
    await a.registry.register({ id: 'door', namespace: { pid: 4711 } });
    const pass = (ms: number): void => {
      sinceStartMs += ms;
      vi.advanceTimersByTime(ms);
    };
    a.view.leave(sinceStartMs);
    pass(graceMs - 1_000);
    a.view.comeBack();
    pass(graceMs);
    expect(lapsed).toEqual([]);
    a.view.leave(sinceStartMs);
    pass(graceMs);
    expect(lapsed).toEqual([]);
    pass(100);
    expect(lapsed).toEqual(['met']);
    expect(a.registry.find('met')).not.toBeNull();
    vi.useRealTimers();
  });

  describe('what was open is ended with the grace', () => {
    const lapsed: string[] = [];
    let grace: number;
    const pass = (ms: number): void => {
      for (let left = ms; left > 0; left -= 100) {
        sinceStartMs += Math.min(left, 100);
        vi.advanceTimersByTime(Math.min(left, 100));
      }
    };
    const sharing = {
      gateway: 'gateway-c',
      sharedAddresses: () => false,
      graceMs: () => grace,
      sinceStartMs: () => sinceStartMs,
    };

    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      lapsed.length = 0;
      grace = graceMs;
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    test('that a reload makes shorter or longer while it lasts', async () => {
      const c = await openSharingGateway(shared, 'gateway-c', new TestClock(), { sharing });
      c.registry.onLapsed((id) => lapsed.push(id));
      await registered('met');
      c.registry.noteIdentified('met');
      c.view.leave(sinceStartMs);
      pass(10_000);
      grace = 2 * graceMs;
      pass(graceMs);
      expect(lapsed).toEqual([]);
      expect(c.registry.isVouchedFor(c.registry.find('met')!, c.view.away!)).toBe(true);
      grace = 20_000;
      pass(2_000);
      expect(lapsed).toEqual(['met']);
      // Once, unless it is served again.
      pass(10_000);
      expect(lapsed).toEqual(['met']);
      grace = 2 * graceMs;
      pass(graceMs);
      expect(lapsed).toEqual(['met', 'met']);
      c.registry.close();
    });

    test.each([
      ['before its grace is over', 1_000],
      ['after its grace is over', graceMs + 1_000],
    ])('in a process that begins while the store is away, %s', async (_when, sinceMs) => {
      await registered('met');
      sinceStartMs += sinceMs;
      const away = { sinceMs: sinceStartMs - sinceMs, reason: 'connection refused' };
      const registrations = { ...b.view, load: async () => [...shared.held.values()], watch() {} };
      const registry = await SandboxRegistry.open({
        store: { away, onAway: () => () => {}, registrations: registrations as unknown as RegistrationStore },
        sharing,
        knownCredentials: () => new Set(),
        socketDirectory: '/run/c',
        now: new TestClock().now,
      });
      registry.noteIdentified('met');
      registry.onLapsed((id) => lapsed.push(id));
      const isServed = sinceMs < graceMs;
      expect(registry.isVouchedFor(registry.find('met')!, away)).toBe(isServed);
      pass(Math.max(0, graceMs - sinceMs - 1_000));
      expect(lapsed).toEqual([]);
      pass(2_000);
      expect(lapsed).toEqual(['met']);
      registry.close();
    });
  });

  test('one that has never called here is refused in words, and told when to come again', async () => {
    const unmet = await registered('unmet');
    a.view.leave(sinceStartMs);
    for (let attempt = 0; attempt < 2; attempt++) {
      const refusal = refusalOf(() => call(unmet));
      expect(refusal).toMatchObject({ code: 'store.unavailable', status: 500, retryAfterSeconds: 5 });
      expect(refusal.message).toBe('the gateway cannot ask its store whether the registration of unmet still holds');
      // For the operator, not for the sandbox.
      expect(refusal.message + refusal.hint).not.toContain('connection refused');
    }
    a.view.comeBack();
    expect(call(unmet)).toBe('unmet');
  });

  test('one that was registered elsewhere meanwhile is not told that nobody has registered it', async () => {
    a.view.leave(sinceStartMs);
    const late = await registered('late');
    expect(refusalOf(() => call(late)).code).toBe('store.unavailable');
    expect(refusalOf(() => call(callerFrom({ address: '192.0.2.9' }))).code).toBe('store.unavailable');
  });

  test('a wrong proof is as wrong as ever, also of one that was served before', async () => {
    const met = await registered('met');
    call(met);
    a.view.leave(sinceStartMs);
    expect(refusalOf(() => call({ ...met, proxyAuthorization: basic('met', 'wrong') })).code).toBe(
      'sandbox.proof-wrong',
    );
  });

  test('nothing is registered or renewed, and the operator hears why; a door in a namespace needs no store', async () => {
    await a.registry.register({ id: 'one' });
    a.view.leave(sinceStartMs);
    const refused = { code: 'store.unavailable', status: 503 };
    await expect(a.registry.register({ id: 'two' })).rejects.toMatchObject(refused);
    await expect(a.registry.renew('one')).rejects.toMatchObject(refused);
    expect(a.registry.find('two')).toBeNull();
    const { record } = await a.registry.register({ id: 'door', namespace: { pid: 4711 } });
    expect(call(callerFrom({ socketOf: record.id }))).toBe('door');
  });

  test('one that is removed is gone here at once, says who is not confirmed, and goes everywhere when the store is back', async () => {
    const met = await registered('met');
    call(met);
    a.view.leave(sinceStartMs);
    expect(await a.registry.remove('met')).toEqual({
      unconfirmed: ['all other gateways (the store does not answer)'],
    });
    expect(a.removed).toEqual(['met']);
    expect(b.registry.find('met')).not.toBeNull();
    a.view.comeBack();
    expect(refusalOf(() => call(met)).code).toBe('sandbox.unknown');
    expect(b.registry.find('met')).toBeNull();
    expect(b.removed).toEqual(['met']);
  });

  test('a gateway that is cut off is named to whoever removes a sandbox', async () => {
    await registered('met');
    a.view.leave(sinceStartMs);
    expect(await b.registry.remove('met')).toEqual({ unconfirmed: ['gateway-a'] });
    a.view.comeBack();
    expect(a.removed).toEqual(['met']);
  });
});
