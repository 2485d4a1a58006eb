import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller, Identified } from '../../../src/path/flow.ts';
import { createIdentifyStage } from '../../../src/stages/identify/identify-stage.ts';
import { acceptedFlow, basic, callerFrom, canonicalOf, refusalOf } from '../../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../../support/memory-registry.ts';

let t: TestRegistry;
let stolen: string;

beforeEach(async () => {
  t = await openTestRegistry();
  stolen = (await t.registry.register({ id: 'victim', container_ip: '172.18.0.5', proof: ['ip', 'secret'] })).secret!;
  await t.registry.register({ id: 'thief', container_ip: '172.18.0.6', proof: ['ip', 'secret'] });
});

afterEach(() => t.registry.close());

function codeOf(caller: Partial<Caller>): string {
  const flow = acceptedFlow(callerFrom(caller), canonicalOf('GET', 'https://api.example.com/'));
  return refusalOf(() => createIdentifyStage(t.registry).run(flow)).code;
}

describe('a secret that is listed beside an address is worth nothing elsewhere', () => {
  test('from an address that nobody has', () => {
    for (const form of [basic('victim', stolen), basic('sandbox', stolen), `Bearer ${stolen}`]) {
      expect(codeOf({ address: '172.18.0.9', proxyAuthorization: form })).toBe('sandbox.unknown');
    }
  });

  test('from the address of another sandbox: it is that sandbox, and its own secret is asked for', () => {
    for (const form of [basic('victim', stolen), basic('thief', stolen), `Bearer ${stolen}`]) {
      expect(codeOf({ address: '172.18.0.6', proxyAuthorization: form })).toBe('sandbox.proof-wrong');
    }
  });

  test('who names another id than its own is not served, though its address and its secret are right', () => {
    for (const id of ['thief', 'nobody', 'Victim', 'victim ']) {
      expect(codeOf({ address: '172.18.0.5', proxyAuthorization: basic(id, stolen) })).toBe('sandbox.proof-wrong');
    }
    const flow = acceptedFlow(
      callerFrom({ address: '172.18.0.5', proxyAuthorization: basic('victim', stolen) }),
      canonicalOf('GET', 'https://api.example.com/'),
    );
    expect((createIdentifyStage(t.registry).run(flow) as Identified).sandbox.id).toBe('victim');
  });

  test('an id that is claimed leads to its own sandbox alone, whoever has the address', async () => {
    const named = (await t.registry.register({ id: 'named', container_ip: '172.18.0.7', proof: ['secret'] })).secret!;
    const other = (await t.registry.register({ id: 'other', proof: ['secret'] })).secret!;
    expect(codeOf({ address: '172.18.0.9', proxyAuthorization: basic('named', other) })).toBe('sandbox.proof-wrong');
    expect(codeOf({ address: '172.18.0.7', proxyAuthorization: basic('other', named) })).toBe('sandbox.proof-wrong');
    // It names a sandbox that is not there: the one at its address is not meant.
    expect(codeOf({ address: '172.18.0.7', proxyAuthorization: basic('gone', named) })).toBe('sandbox.unknown');
    const flow = acceptedFlow(
      callerFrom({ address: '172.18.0.9', proxyAuthorization: basic('named', named) }),
      canonicalOf('GET', 'https://api.example.com/'),
    );
    expect((createIdentifyStage(t.registry).run(flow) as Identified).sandbox.id).toBe('named');
  });

  test('the right address without the secret is not enough either', () => {
    expect(codeOf({ address: '172.18.0.5' })).toBe('sandbox.proof-missing');
  });

  test('nor is a hash of it, or a part', () => {
    const { secret_sha256: hash } = t.registry.find('victim')!.toStored();
    for (const wrong of [hash!, stolen.slice(0, -1), `${stolen}A`, stolen.toUpperCase(), '']) {
      expect(codeOf({ address: '172.18.0.5', proxyAuthorization: basic('victim', wrong) })).toBe('sandbox.proof-wrong');
    }
  });
});
