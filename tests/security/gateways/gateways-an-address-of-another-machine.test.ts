import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../../../src/path/flow.ts';
import { identifyCaller } from '../../../src/stages/identify/identify-caller.ts';
import type { RegistrationRequest } from '../../../src/stages/identify/registry/registration.ts';
import { basic, callerFrom, refusalOf } from '../../support/hand-made-flow.ts';
import { TestClock } from '../../support/memory-registry.ts';
import { openSharingGateway, SharedRegistrations, type SharingGateway } from '../../support/shared-registrations.ts';

const address = '172.17.0.2';
let shared: SharedRegistrations;
let clock: TestClock;
let areShared: boolean;
let a: SharingGateway;
let b: SharingGateway;

beforeEach(async () => {
  shared = new SharedRegistrations();
  clock = new TestClock();
  areShared = false;
  const sharedAddresses = (): boolean => areShared;
  a = await openSharingGateway(shared, 'gateway-a', clock, { sharedAddresses });
  b = await openSharingGateway(shared, 'gateway-b', clock, { sharedAddresses });
});

afterEach(() => {
  a.registry.close();
  b.registry.close();
});

const whoIs = ({ registry }: SharingGateway, caller: Partial<Caller>): string =>
  identifyCaller(registry, callerFrom(caller)).id;
const refusedAt = ({ registry }: SharingGateway, caller: Partial<Caller>): string =>
  refusalOf(() => identifyCaller(registry, callerFrom(caller))).code;

describe('an address on one machine says nothing about who has it on another', () => {
  test('registered at one gateway, it is nobody at the other', async () => {
    await a.registry.register({ id: 'one', container_ip: address });
    expect(whoIs(a, { address })).toBe('one');
    expect(refusedAt(b, { address })).toBe('sandbox.unknown');
    // Nor does its name help, whatever secret is shown with it.
    expect(refusedAt(b, { address, proxyAuthorization: basic('one', 'x') })).toBe('sandbox.unknown');
    expect(b.registry.find(address)).toBeNull();
  });

  test('each machine may have its own sandbox at it, and neither is taken for the other', async () => {
    await a.registry.register({ id: 'one', container_ip: address });
    await b.registry.register({ id: 'two', container_ip: address });
    expect([whoIs(a, { address }), whoIs(b, { address })]).toEqual(['one', 'two']);
    await b.registry.remove('two');
    expect(whoIs(a, { address })).toBe('one');
    expect(refusedAt(b, { address })).toBe('sandbox.unknown');
  });

  test('with a secret as well, both must fit, wherever it calls', async () => {
    const { secret } = await a.registry.register({ id: 'one', container_ip: address, proof: ['ip', 'secret'] });
    const proxyAuthorization = basic('one', secret!);
    expect(whoIs(b, { address, proxyAuthorization })).toBe('one');
    expect(refusedAt(b, { address: '172.17.0.3', proxyAuthorization })).toBe('sandbox.proof-wrong');
    expect(refusedAt(b, { address, proxyAuthorization: basic('one', 'wrong') })).toBe('sandbox.proof-wrong');
    expect(refusedAt(b, { address })).toBe('sandbox.proof-missing');
  });

  test('a private socket of the same name on another machine is not its own', async () => {
    await a.registry.register({ id: 'one', proof: ['socket'] });
    expect(whoIs(a, { socketOf: 'one' })).toBe('one');
    expect(refusedAt(b, { socketOf: 'one' })).toBe('sandbox.unknown');
  });

  test('a container is served where its Docker can vouch for it, and nowhere else, also by secret', async () => {
    const witness = async (asked: RegistrationRequest): Promise<RegistrationRequest> => ({
      ...asked,
      containerId: 'ab'.repeat(32),
      containerIp: address,
      container: { name: 'agent', network: 'bridge', mac: null, pid: 7, startedAt: '2026-01-01T00:00:00Z' },
    });
    const home = await openSharingGateway(shared, 'gateway-c', clock);
    home.registry.useWitness(witness);
    const { secret } = await home.registry.register({ id: 'one', container_id: 'agent', proof: ['ip', 'secret'] });
    const caller = { address, proxyAuthorization: basic('one', secret!) };
    expect(whoIs(home, caller)).toBe('one');
    expect(refusedAt(b, caller)).toBe('sandbox.unconfirmed');
    areShared = true;
    expect(refusedAt(b, caller)).toBe('sandbox.unconfirmed');
    home.registry.close();
  });
});

describe('where the operator says that addresses are the same everywhere', () => {
  test('it is the same sandbox at every gateway, and no second one gets it', async () => {
    areShared = true;
    await a.registry.register({ id: 'one', container_ip: address });
    expect(whoIs(b, { address })).toBe('one');
    await expect(b.registry.register({ id: 'two', container_ip: address })).rejects.toMatchObject({
      code: 'sandbox.conflict',
    });
    areShared = false;
    expect(refusedAt(b, { address })).toBe('sandbox.unknown');
  });

  test('of two from before, each gateway goes by its own, and a third believes neither', async () => {
    await a.registry.register({ id: 'one', container_ip: address });
    await b.registry.register({ id: 'two', container_ip: address });
    areShared = true;
    const third = await openSharingGateway(shared, 'gateway-c', clock, { sharedAddresses: () => true });
    expect([whoIs(a, { address }), whoIs(b, { address })]).toEqual(['one', 'two']);
    expect(refusedAt(third, { address })).toBe('sandbox.unknown');
    third.registry.close();
  });
});
