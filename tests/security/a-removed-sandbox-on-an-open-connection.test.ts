import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Accepted, Caller, Identified } from '../../src/flow/flow.ts';
import type { Stage } from '../../src/flow/stage.ts';
import { createIdentifyStage } from '../../src/identify/identify-stage.ts';
import { acceptedFlow, callerFrom, canonicalOf, refusalOf } from '../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../support/memory-registry.ts';

let t: TestRegistry;
let stage: Stage<Accepted, Identified>;
const caller: Caller = callerFrom({ address: '172.18.0.5' });

beforeEach(async () => {
  t = await openTestRegistry();
  stage = createIdentifyStage(t.registry);
});

afterEach(() => t.registry.close());

function run(): string {
  const flow = acceptedFlow(caller, canonicalOf('GET', 'https://api.example.com/'));
  return (stage.run(flow) as Identified).sandbox.id;
}

describe('what a connection was once recognised as does not outlive the registration', () => {
  test('after it is removed', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    expect(run()).toBe('one');
    await t.registry.remove('one');
    expect(refusalOf(run).code).toBe('sandbox.unknown');
  });

  test('after its address was given to another sandbox', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    run();
    await t.registry.remove('one');
    await t.registry.register({ id: 'two', container_ip: '172.18.0.5' });
    expect(run()).toBe('two');
  });

  test('after the same id was registered again with more proofs', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    run();
    await t.registry.remove('one');
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'secret'] });
    expect(refusalOf(run).code).toBe('sandbox.proof-missing');
  });

  test('after it has expired: told once, then it is unknown, however busy it was', async () => {
    const gone: string[] = [];
    t.registry.onRemoved((id) => gone.push(id));
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', expires_at: '2026-01-01T01:00:00Z' });
    for (let i = 0; i < 59; i++) {
      t.clock.advance(60_000);
      expect(run()).toBe('one');
    }
    t.clock.advance(60_000);
    expect(refusalOf(run)).toMatchObject({ code: 'sandbox.expired', status: 403 });
    expect(refusalOf(run)).toMatchObject({ code: 'sandbox.unknown', status: 403 });
    expect(gone).toEqual(['one']);
  });

  test('a new connection after the end is told the same', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', expires_at: '2026-01-01T01:00:00Z' });
    t.clock.advance(3_600_000);
    expect(refusalOf(run).code).toBe('sandbox.expired');
    expect(refusalOf(run).code).toBe('sandbox.unknown');
  });
});
