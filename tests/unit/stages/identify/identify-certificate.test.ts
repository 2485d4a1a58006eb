import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../../../../src/path/flow.ts';
import type { Refusal } from '../../../../src/path/refusal.ts';
import { identifyCaller, identifyForRenewal } from '../../../../src/stages/identify/identify-caller.ts';
import type { SandboxRecord } from '../../../../src/stages/identify/registry/sandbox-record.ts';
import { basic, callerFrom, refusalOf } from '../../../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../../../support/memory-registry.ts';

let t: TestRegistry;

beforeEach(async () => {
  t = await openTestRegistry();
});
afterEach(() => t.registry.close());

const showing = (record: SandboxRecord, over: Partial<Caller> = {}): Caller =>
  callerFrom({
    address: '198.51.100.1',
    certificate: { sandboxId: record.id, binding: record.certificateBinding ?? 'none' },
    ...over,
  });

function idOf(caller: Caller): string {
  return identifyCaller(t.registry, caller).id;
}

function refused(caller: Caller): Refusal {
  return refusalOf(() => idOf(caller));
}

describe('a caller is the sandbox its certificate was made for', () => {
  test('by the certificate alone, from any address', async () => {
    const { record } = await t.registry.register({ id: 'one', proof: ['mtls'] });
    expect(idOf(showing(record))).toBe('one');
    expect(idOf(showing(record, { address: '203.0.113.9' }))).toBe('one');
  });

  test('together with every other proof that is listed', async () => {
    const { record, secret } = await t.registry.register({
      id: 'one',
      container_ip: '172.18.0.5',
      proof: ['mtls', 'ip', 'secret'],
    });
    const proxyAuthorization = basic('one', secret!);
    expect(idOf(showing(record, { address: '172.18.0.5', proxyAuthorization }))).toBe('one');
    expect(refused(showing(record, { address: '172.18.0.6', proxyAuthorization })).rule).toBe('proof: ip');
    expect(refused(showing(record, { address: '172.18.0.5' })).rule).toBe('proof: secret');
    expect(refused(callerFrom({ address: '172.18.0.5', proxyAuthorization })).rule).toBe('proof: mtls');
  });

  test('never of another id nor of another registration', async () => {
    const { record: one } = await t.registry.register({ id: 'one', proof: ['mtls'] });
    const { record: two } = await t.registry.register({ id: 'two', proof: ['mtls'] });
    const mixed = { sandboxId: 'one', binding: two.certificateBinding! };
    expect(refused(showing(one, { certificate: mixed }))).toMatchObject({
      status: 407,
      code: 'sandbox.proof-wrong',
      rule: 'proof: mtls',
    });
  });

  test('also where it is not a listed proof, a certificate must be right', async () => {
    const { record } = await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    expect(refused(showing(record, { address: '172.18.0.5' })).code).toBe('sandbox.proof-wrong');
    expect(idOf(callerFrom({ address: '172.18.0.5' }))).toBe('one');
  });

  test('one whose registration is gone is told so, and is not asked for a secret', async () => {
    const { record } = await t.registry.register({ id: 'one', proof: ['mtls'] });
    await t.registry.register({ id: 'by-secret' });
    await t.registry.remove('one');
    expect(refused(showing(record))).toMatchObject({
      status: 403,
      code: 'sandbox.unknown',
      message: 'one is not registered any more',
    });
  });

  test('a door that belongs to one sandbox serves no certificate of another', async () => {
    await t.registry.register({ id: 'one', proof: ['socket'] });
    const { record } = await t.registry.register({ id: 'two', proof: ['mtls'] });
    expect(refused(showing(record, { socketOf: 'one' })).code).toBe('sandbox.proof-wrong');
    const { record: three } = await t.registry.register({ id: 'three', proof: ['mtls'] });
    // The id counts, also where the binding would be the right one.
    const certificate = { sandboxId: 'two', binding: three.certificateBinding! };
    expect(refused(showing(record, { socketOf: 'three', certificate })).code).toBe('sandbox.proof-wrong');
  });

  test('an expired registration ends it', async () => {
    const { record } = await t.registry.register({ id: 'one', proof: ['mtls'] });
    t.clock.advance(25 * 3_600_000);
    expect(refused(showing(record)).code).toBe('sandbox.expired');
  });
});

describe('a renewal asks for what a connection can show', () => {
  test('the certificate and the address, not the secret', async () => {
    const { record } = await t.registry.register({
      id: 'one',
      container_ip: '172.18.0.5',
      proof: ['ip', 'secret', 'mtls'],
    });
    expect(identifyForRenewal(t.registry, showing(record, { address: '172.18.0.5' })).id).toBe('one');
    const elsewhere = showing(record, { address: '172.18.0.6' });
    expect(refusalOf(() => identifyForRenewal(t.registry, elsewhere)).rule).toBe('proof: ip');
  });

  test('always a certificate, also of a sandbox that does not list it', async () => {
    const { record } = await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    const bare = callerFrom({ address: '172.18.0.5' });
    expect(refusalOf(() => identifyForRenewal(t.registry, bare)).rule).toBe('proof: mtls');
    const shown = showing(record, { address: '172.18.0.5' });
    expect(refusalOf(() => identifyForRenewal(t.registry, shown)).rule).toBe('proof: mtls');
  });
});
