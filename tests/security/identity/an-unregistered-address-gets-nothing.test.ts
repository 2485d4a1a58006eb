import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../../../src/path/flow.ts';
import { createIdentifyStage } from '../../../src/stages/identify/identify-stage.ts';
import { acceptedFlow, basic, callerFrom, canonicalOf, refusalOf } from '../../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../../support/memory-registry.ts';

let t: TestRegistry;
let secret: string;

beforeEach(async () => {
  t = await openTestRegistry();
  await t.registry.register({ id: 'by-address', container_ip: '172.18.0.5' });
  await t.registry.register({ id: 'by-both', container_ip: '172.18.0.6', proof: ['ip', 'secret'] });
  await t.registry.register({ id: 'by-socket', container_ip: '172.18.0.7', proof: ['socket'] });
  secret = (await t.registry.register({ id: 'by-secret', container_ip: '172.18.0.8', proof: ['secret'] })).secret!;
});

afterEach(() => t.registry.close());

function codeOf(caller: Partial<Caller>): string {
  const stage = createIdentifyStage(t.registry);
  const flow = acceptedFlow(callerFrom(caller), canonicalOf('GET', 'https://api.example.com/'));
  return refusalOf(() => stage.run(flow)).code;
}

describe('nobody is served who is not registered', () => {
  test.each([
    ['a neighbour', '172.18.0.9'],
    ['a prefix of a registered address', '172.18.0'],
    ['a longer one', '172.18.0.50'],
    ['another family', '::1'],
    ['an address that embeds a registered one', '64:ff9b::172.18.0.5'],
    ['an IPv4-compatible one', '::172.18.0.5'],
    ['one with a zone', 'fe80::1%eth0'],
    ['nothing', ''],
  ])('%s', (_who, address) => {
    expect(codeOf({ address, proxyAuthorization: 'Bearer guess' })).toBe('sandbox.unknown');
    expect(codeOf({ address })).toBe('sandbox.proof-missing');
  });

  test('no id, real or not, opens a registration that lists an address or a socket', () => {
    for (const id of ['by-address', 'by-both', 'by-socket', '172.18.0.5', '__proto__', 'constructor', '']) {
      expect(codeOf({ address: '10.9.9.9', proxyAuthorization: basic(id, secret) }), id).toBe('sandbox.unknown');
    }
  });

  test('a Unix socket that belongs to nobody', () => {
    expect(codeOf({ address: null, proxyAuthorization: basic('by-address', 'x') })).toBe('sandbox.unknown');
    expect(codeOf({ socketOf: 'gone', address: '172.18.0.5' })).toBe('sandbox.unknown');
  });

  test('an address is not enough where it is not listed as a proof', () => {
    expect(codeOf({ address: '172.18.0.8' })).toBe('sandbox.proof-missing');
    expect(codeOf({ address: '172.18.0.7' })).toBe('sandbox.proof-missing');
    expect(codeOf({ address: '172.18.0.7', proxyAuthorization: basic('by-socket', 'x') })).toBe('sandbox.unknown');
  });
});
