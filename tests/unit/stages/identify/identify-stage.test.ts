import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Accepted, Caller, Identified } from '../../../../src/path/flow.ts';
import type { Stage } from '../../../../src/path/stage.ts';
import { createIdentifyStage } from '../../../../src/stages/identify/identify-stage.ts';
import { SandboxRecord } from '../../../../src/stages/identify/registry/sandbox-record.ts';
import { acceptedFlow, basic, callerFrom, canonicalOf, refusalOf } from '../../../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../../../support/memory-registry.ts';

let t: TestRegistry;
let stage: Stage<Accepted, Identified>;

beforeEach(async () => {
  t = await openTestRegistry();
  stage = createIdentifyStage(t.registry);
});

afterEach(async () => {
  vi.restoreAllMocks();
  t.registry.close();
});

function run(caller: Caller): string {
  const out = stage.run(acceptedFlow(caller, canonicalOf('GET', 'https://api.example.com/'))) as Identified;
  return out.sandbox.id;
}

function codeOf(caller: Caller): string {
  const refusal = refusalOf(() => run(caller));
  return `${refusal.status} ${refusal.code}`;
}

describe('a caller is the sandbox that every listed proof says it is', () => {
  test('by address, also when the listener reports it in mapped form', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    expect(run(callerFrom({ address: '172.18.0.5' }))).toBe('one');
    expect(run(callerFrom({ address: '::ffff:172.18.0.5' }))).toBe('one');
    expect(codeOf(callerFrom({ address: '172.18.0.6' }))).toBe('403 sandbox.unknown');
  });

  test('by address and secret, in each form a client may send it', async () => {
    const { secret } = await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'secret'] });
    const from = (proxyAuthorization: string | null): Caller =>
      callerFrom({ address: '172.18.0.5', proxyAuthorization });
    for (const form of [basic('one', secret!), basic('sandbox', secret!), basic('', secret!), `Bearer ${secret}`]) {
      expect(run(from(form))).toBe('one');
    }
    expect(codeOf(from(null))).toBe('407 sandbox.proof-missing');
    expect(codeOf(from(basic('one', 'wrong')))).toBe('407 sandbox.proof-wrong');
    expect(codeOf(from(basic('two', secret!)))).toBe('407 sandbox.proof-wrong');
    expect(codeOf(from('Digest x'))).toBe('407 sandbox.proof-wrong');
  });

  test('by name and secret where no address is a proof', async () => {
    const one = await t.registry.register({ id: 'one' });
    const two = await t.registry.register({ id: 'two' });
    expect(run(callerFrom({ address: '10.0.0.1', proxyAuthorization: basic('one', one.secret!) }))).toBe('one');
    expect(run(callerFrom({ address: '10.0.0.1', proxyAuthorization: basic('two', two.secret!) }))).toBe('two');
    expect(codeOf(callerFrom({ address: '10.0.0.1', proxyAuthorization: basic('one', two.secret!) }))).toBe(
      '407 sandbox.proof-wrong',
    );
    expect(codeOf(callerFrom({ address: '10.0.0.1', proxyAuthorization: basic('none', one.secret!) }))).toBe(
      '403 sandbox.unknown',
    );
  });

  test('a caller that has sent nothing is challenged where a secret could tell who it is', async () => {
    expect(codeOf(callerFrom({ address: '10.0.0.1' }))).toBe('403 sandbox.unknown');
    await t.registry.register({ id: 'one' });
    expect(codeOf(callerFrom({ address: '10.0.0.1' }))).toBe('407 sandbox.proof-missing');
    await t.registry.remove('one');
    expect(codeOf(callerFrom({ address: '10.0.0.1' }))).toBe('403 sandbox.unknown');
  });

  test('an address that is no proof still says whose secret is asked for', async () => {
    const { secret } = await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['secret'] });
    expect(codeOf(callerFrom({ address: '172.18.0.5' }))).toBe('407 sandbox.proof-missing');
    expect(run(callerFrom({ address: '172.18.0.5', proxyAuthorization: `Bearer ${secret}` }))).toBe('one');
    expect(run(callerFrom({ address: '172.18.0.9', proxyAuthorization: basic('one', secret!) }))).toBe('one');
    expect(codeOf(callerFrom({ address: '172.18.0.5', proxyAuthorization: basic('two', secret!) }))).toBe(
      '403 sandbox.unknown',
    );
  });

  test('by its private socket', async () => {
    await t.registry.register({ id: 'one', proof: ['socket'] });
    expect(run(callerFrom({ socketOf: 'one' }))).toBe('one');
    expect(codeOf(callerFrom({ socketOf: 'two' }))).toBe('403 sandbox.unknown');
    expect(codeOf(callerFrom({ address: '172.18.0.5', proxyAuthorization: basic('one', 'x') }))).toBe(
      '403 sandbox.unknown',
    );
  });

  test('a socket and an address must both agree when both are listed', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'socket'] });
    expect(run(callerFrom({ socketOf: 'one', address: '172.18.0.5' }))).toBe('one');
    expect(codeOf(callerFrom({ address: '172.18.0.5' }))).toBe('407 sandbox.proof-missing');
    expect(codeOf(callerFrom({ socketOf: 'one' }))).toBe('407 sandbox.proof-wrong');
  });
});

describe('a verdict is kept per connection but never outlives the registration', () => {
  test('the secret is compared once per caller', async () => {
    const { secret } = await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'secret'] });
    const compared = vi.spyOn(SandboxRecord.prototype, 'secretMatches');
    const caller = callerFrom({ address: '172.18.0.5', proxyAuthorization: basic('one', secret!) });
    for (let i = 0; i < 5; i++) run(caller);
    expect(compared).toHaveBeenCalledTimes(1);
  });

  test('a refused caller that is registered afterwards is served', async () => {
    const caller = callerFrom({ address: '172.18.0.5' });
    expect(codeOf(caller)).toBe('403 sandbox.unknown');
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    expect(run(caller)).toBe('one');
  });

  test('every request renews the registration', async () => {
    const { record } = await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    const caller = callerFrom({ address: '172.18.0.5' });
    for (let i = 0; i < 3; i++) {
      t.clock.advance(20 * 3_600_000);
      run(caller);
      expect(record.expiresAtMs).toBe(t.clock.nowMs + 24 * 3_600_000);
    }
  });
});

describe('a refusal tells the caller what it can do', () => {
  test('an unknown address is told how to be registered', () => {
    expect(refusalOf(() => run(callerFrom({ address: '172.18.0.9' }))).hint).toContain(
      'sallyport register --ip 172.18.0.9',
    );
  });

  test('a missing secret is told where to put it, and no answer carries the secret that was sent', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'secret'] });
    expect(refusalOf(() => run(callerFrom({ address: '172.18.0.5' }))).hint).toContain(
      'Proxy-Authorization: Bearer SECRET',
    );
    const refusal = refusalOf(() =>
      run(callerFrom({ address: '172.18.0.5', proxyAuthorization: basic('one', 'hunter2') })),
    );
    expect(`${refusal.message} ${refusal.hint} ${refusal.rule}`).not.toContain('hunter2');
  });
});
