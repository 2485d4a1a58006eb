import { describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../../../src/kit/synthetic-address.ts';
import { parseHostPattern } from '../../../../../src/policy/host-pattern.ts';
import type { PlainPlaces } from '../../../../../src/stages/accept/doors/door-ports.ts';
import { AskedNames, plainPlaceAtDoor, plainPlaceOf } from '../../../../../src/stages/accept/doors/plain-place.ts';

function places(rules: Readonly<Record<string, readonly number[]>>, read: readonly number[] = [443]): PlainPlaces {
  const tcp = Object.entries(rules).map(([text, ports]) => {
    const host = parseHostPattern(text);
    if ('problem' in host) throw new Error(host.problem);
    return { host: host.value, ports };
  });
  return { tcp, read: new Set(read) };
}

function asked(...names: readonly string[]): AskedNames {
  const all = new AskedNames();
  for (const name of names) all.add(name);
  return all;
}

const cache = 'cache.example.com';
const rules = places({ [cache]: [6379], '*.db.example.com': [5432] });

describe('in a namespace the address says the name', () => {
  test.each(['v4', 'v6'] as const)('of a host that is written out, unasked: %s', (family) => {
    const place = { address: syntheticAddresses(cache)[family], port: 6379 };
    expect(plainPlaceOf(rules, place, asked())).toEqual({ host: cache });
  });

  test('of a wildcard, once it was asked for here', () => {
    const place = { address: syntheticAddresses('a.db.example.com').v4, port: 5432 };
    expect(plainPlaceOf(rules, place, asked())).toMatchObject({ fault: { code: 'target.literal-address' } });
    expect(plainPlaceOf(rules, place, asked('A.db.example.com.'))).toEqual({ host: 'a.db.example.com' });
    expect(plainPlaceOf(rules, place, asked('b.db.example.com'))).toHaveProperty('fault');
  });

  test('a port that no entry has is read', () => {
    expect(plainPlaceOf(rules, { address: syntheticAddresses(cache).v4, port: 443 }, asked())).toBeNull();
  });

  test('a port that is read for other hosts is read for all but its own', () => {
    const both = places({ [cache]: [8443] }, [443, 8443]);
    expect(plainPlaceOf(both, { address: syntheticAddresses(cache).v4, port: 8443 }, asked())).toEqual({ host: cache });
    const other = { address: syntheticAddresses('api.example.com').v4, port: 8443 };
    expect(plainPlaceOf(both, other, asked('api.example.com'))).toBeNull();
  });

  test('a name that no entry covers is handed on by its name, to be refused by it', () => {
    const place = { address: syntheticAddresses('api.example.com').v4, port: 6379 };
    expect(plainPlaceOf(rules, place, asked('api.example.com'))).toEqual({ host: 'api.example.com' });
  });

  test.each(['203.0.113.7', '127.0.0.1', '::1', '2001:db8::1'])('an address of no name has no host: %s', (address) => {
    expect(plainPlaceOf(rules, { address, port: 6379 }, asked(cache))).toMatchObject({
      fault: { code: 'target.literal-address' },
    });
  });

  test('two names at one IPv4 address are told apart over IPv6 alone', () => {
    // Found by trying: 17 bits are few.
    const byAddress = new Map<string, string>();
    let pair: readonly [string, string] | null = null;
    for (let i = 0; pair === null; i++) {
      const name = `n${i}.db.example.com`;
      const { v4 } = syntheticAddresses(name);
      const other = byAddress.get(v4);
      if (other !== undefined) pair = [other, name];
      byAddress.set(v4, name);
    }
    const both = asked(...pair);
    const { v4, v6 } = syntheticAddresses(pair[0]);
    expect(plainPlaceOf(rules, { address: v4, port: 5432 }, both)).toMatchObject({
      fault: { code: 'mismatch.authority' },
    });
    expect(plainPlaceOf(rules, { address: v6, port: 5432 }, both)).toEqual({ host: pair[0] });
  });

  test('a sandbox that asks for very many names forgets its own alone, and stays small', () => {
    const names = asked(cache);
    for (let i = 0; i < 5000; i++) names.add(`x${i}.example.com`);
    expect([...names.all()].length).toBeLessThanOrEqual(1024);
    names.add('not a name');
    names.add('198.51.100.1');
    expect([...names.all()]).not.toContain('198.51.100.1');
  });
});

describe('at a door with one address for all names the port says it', () => {
  test('where one host has it', () => {
    expect(plainPlaceAtDoor(rules, 6379, asked())).toEqual({ host: cache });
  });

  test('where several have it, the one that was asked for; what is not clear goes nowhere', () => {
    const two = places({ 'a.example.com': [6379], 'b.example.com': [6379] });
    expect(plainPlaceAtDoor(two, 6379, asked('b.example.com'))).toEqual({ host: 'b.example.com' });
    for (const names of [asked(), asked('a.example.com', 'b.example.com')]) {
      expect(plainPlaceAtDoor(two, 6379, names)).toMatchObject({ fault: { code: 'mismatch.authority' } });
    }
  });

  test('a port that is read for any host is read', () => {
    expect(plainPlaceAtDoor(places({ [cache]: [8443] }, [8443]), 8443, asked(cache))).toBeNull();
    expect(plainPlaceAtDoor(rules, 443, asked(cache))).toBeNull();
  });
});
