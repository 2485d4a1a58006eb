import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSynthetic, isSyntheticFor, syntheticAddresses } from '../../../src/kit/synthetic-address.ts';

const names = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z0-9]{1,10}){1,3}$/);

describe('a name has one synthetic address of each family', () => {
  test('it is the same for ever, on every gateway', () => {
    // Written down, because sandboxes that outlive a restart have the old one in their caches.
    expect(syntheticAddresses('api.example.com')).toEqual({
      v4: '198.18.196.127',
      v6: 'fd73:616c:6c79:53:eb47:214:a914:a43b',
    });
  });

  test('every spelling of a name has the same', () => {
    expect(syntheticAddresses('API.Example.com.')).toEqual(syntheticAddresses('api.example.com'));
  });

  test('it lies in the ranges that are ours, and never ends in .0 or .255', () => {
    fc.assert(
      fc.property(names, (name) => {
        const { v4, v6 } = syntheticAddresses(name);
        expect(isIPv4(v4)).toBe(true);
        expect(isIPv6(v6)).toBe(true);
        expect(v4).toMatch(/^198\.1[89]\.\d+\.\d+$/);
        expect(['0', '255']).not.toContain(v4.split('.')[3]);
        expect(isSynthetic(v4)).toBe(true);
        expect(isSynthetic(v6)).toBe(true);
      }),
    );
  });

  test('names spread over the whole range', () => {
    const many = Array.from({ length: 4000 }, (_, i) => syntheticAddresses(`host-${i}.example.com`));
    // 130048 addresses: about 60 of 4000 names meet another on IPv4, none on IPv6.
    expect(new Set(many.map(({ v4 }) => v4)).size).toBeGreaterThan(3850);
    expect(new Set(many.map(({ v6 }) => v6)).size).toBe(4000);
    expect(new Set(many.map(({ v4 }) => v4.split('.')[1]))).toEqual(new Set(['18', '19']));
  });
});

describe('an address is compared with the name it was given for', () => {
  test('in every way a socket reports it', () => {
    fc.assert(
      fc.property(names, (name) => {
        const { v4, v6 } = syntheticAddresses(name);
        const [a, b, c, d] = v4.split('.').map(Number) as [number, number, number, number];
        const hex = `::ffff:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
        const written = v6
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(':')
          .toUpperCase();
        for (const address of [v4, `::ffff:${v4}`, `::FFFF:${v4}`, hex, v6, written]) {
          expect(isSyntheticFor(name, address)).toBe(true);
          expect(isSyntheticFor(name.toUpperCase(), address)).toBe(true);
        }
      }),
    );
  });

  test('the address of another name is not it', () => {
    fc.assert(
      fc.property(names, names, (name, other) => {
        fc.pre(syntheticAddresses(name).v4 !== syntheticAddresses(other).v4);
        expect(isSyntheticFor(name, syntheticAddresses(other).v4)).toBe(false);
        expect(isSyntheticFor(name, syntheticAddresses(other).v6)).toBe(false);
      }),
    );
  });

  test.each(['', 'api.example.com', '203.0.113.5', '::', '::1', '::ffff:203.0.113.5', '1.2.3', '198.18.0'])(
    'what is no synthetic address is never one: %j',
    (address) => {
      expect(isSynthetic(address)).toBe(false);
      expect(isSyntheticFor('api.example.com', address)).toBe(false);
    },
  );

  test('the same bits in another place are another address', () => {
    const { v4, v6 } = syntheticAddresses('api.example.com');
    // IPv4-compatible, NAT64, 6to4 and a zone: not forms in which our own address arrives.
    for (const address of [`::${v4}`, `64:ff9b::${v4}`, `2002:c612:0:0::1`, `${v6}%lo`]) {
      expect(isSyntheticFor('api.example.com', address)).toBe(false);
      expect(isSynthetic(address)).toBe(false);
    }
  });

  test('the ranges end where they end', () => {
    expect(['198.17.255.255', '198.20.0.0', 'fd73:616c:6c79:54::1', 'fd73:616c:6c78:53::1'].map(isSynthetic)).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(['198.18.0.0', '198.19.255.255', 'fd73:616c:6c79:53::1'].map(isSynthetic)).toEqual([true, true, true]);
  });
});
