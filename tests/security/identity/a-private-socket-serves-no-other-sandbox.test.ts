import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller, Identified } from '../../../src/path/flow.ts';
import { createIdentifyStage } from '../../../src/stages/identify/identify-stage.ts';
import { acceptedFlow, basic, callerFrom, canonicalOf, refusalOf } from '../../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../../support/memory-registry.ts';

let t: TestRegistry;
let otherSecret: string;

beforeEach(async () => {
  t = await openTestRegistry();
  await t.registry.register({ id: 'mine', proof: ['socket'] });
  await t.registry.register({ id: 'mine-too', proof: ['socket', 'secret'] });
  await t.registry.register({ id: 'at-address', container_ip: '172.18.0.5' });
  otherSecret = (await t.registry.register({ id: 'other', proof: ['secret'] })).secret!;
});

afterEach(() => t.registry.close());

function run(caller: Partial<Caller>): string {
  const flow = acceptedFlow(callerFrom(caller), canonicalOf('GET', 'https://api.example.com/'));
  return (createIdentifyStage(t.registry).run(flow) as Identified).sandbox.id;
}

describe('through a private socket there is only the sandbox it belongs to', () => {
  test("another sandbox's address and secret change nothing", () => {
    expect(run({ socketOf: 'mine', address: '172.18.0.5', proxyAuthorization: basic('other', otherSecret) })).toBe(
      'mine',
    );
  });

  test('a secret that is listed as well must be its own', () => {
    const asOther = { socketOf: 'mine-too', proxyAuthorization: basic('other', otherSecret) };
    expect(refusalOf(() => run(asOther)).code).toBe('sandbox.proof-wrong');
    expect(refusalOf(() => run({ socketOf: 'mine-too' })).code).toBe('sandbox.proof-missing');
  });

  test('once the sandbox is gone its socket serves nobody', async () => {
    await t.registry.remove('mine');
    const caller = { socketOf: 'mine', address: '172.18.0.5', proxyAuthorization: basic('other', otherSecret) };
    expect(refusalOf(() => run(caller)).code).toBe('sandbox.unknown');
  });

  test('no other door serves a sandbox that must come through its socket', () => {
    expect(refusalOf(() => run({ address: '10.0.0.1', proxyAuthorization: basic('mine', '') })).code).toBe(
      'sandbox.unknown',
    );
    const byName = { address: '10.0.0.1', proxyAuthorization: basic('mine-too', 'x') };
    expect(refusalOf(() => run(byName)).status).toBe(407);
  });
});
