import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { whyNotDial } from '../../../../../src/stages/forward/dial/find-upstream.ts';

/** IANA special-purpose registries, as first and last of each range. */
const closed: [string, string, string][] = [
  ['this network', '0.0.0.0', '0.255.255.255'],
  ['private', '10.0.0.0', '10.255.255.255'],
  ['carriers', '100.64.0.0', '100.127.255.255'],
  ['loopback', '127.0.0.0', '127.255.255.255'],
  ['link-local', '169.254.0.0', '169.254.255.255'],
  ['private', '172.16.0.0', '172.31.255.255'],
  ['IETF', '192.0.0.0', '192.0.0.255'],
  ['documentation', '192.0.2.0', '192.0.2.255'],
  ['private', '192.168.0.0', '192.168.255.255'],
  ['benchmarks', '198.18.0.0', '198.19.255.255'],
  ['documentation', '198.51.100.0', '198.51.100.255'],
  ['documentation', '203.0.113.0', '203.0.113.255'],
  ['multicast', '224.0.0.0', '239.255.255.255'],
  ['reserved', '240.0.0.0', '255.255.255.255'],
  ['unspecified and compatible', '::', '::ffff:ffff'],
  ['mapped', '::ffff:0:0', '::ffff:ffff:ffff'],
  ['NAT64', '64:ff9b::', '64:ff9b::ffff:ffff'],
  ['NAT64 for local use', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['discard', '100::', '100::ffff:ffff:ffff:ffff'],
  ['Teredo', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['6to4', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['unique local', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['link-local', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site-local', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

describe('only public unicast is dialled', () => {
  test.each(closed)('%s: %s to %s', (_kind, first, last) => {
    expect(whyNotDial(first)).not.toBeNull();
    expect(whyNotDial(last)).not.toBeNull();
  });

  test.each(['168.63.129.16', '169.254.169.254', '100.100.100.200', 'fd00:ec2::254', '192.0.0.192'])(
    'a metadata service: %s',
    (address) => {
      expect(whyNotDial(address)).not.toBeNull();
    },
  );

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.1.1',
    '223.255.255.255',
    '168.63.129.15',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('public: %s', (address) => {
    expect(whyNotDial(address)).toBeNull();
  });

  test.each([
    '',
    'localhost',
    'api.example',
    '1.2.3',
    '0177.0.0.1',
    '0x7f.1',
    '2130706433',
    '168.063.129.16',
    '1.2.3.4.5',
    '[::1]',
    '::1]',
    '1.1.1.1:443',
    ' 1.1.1.1',
    '1.1.1.1\0',
  ])('no address: %j', (text) => {
    expect(whyNotDial(text)).not.toBeNull();
  });

  test('no IPv4 address becomes public by being written as IPv6', () => {
    const wrap = fc.constantFrom('::ffff:', '::', '64:ff9b::', '64:ff9b:1::', '::ffff:0:');
    fc.assert(
      fc.property(fc.ipV4(), wrap, (address, prefix) => {
        expect(whyNotDial(`${prefix}${address}`)).not.toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  test('whatever it lets pass is plainly global', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (address) => {
        if (whyNotDial(address) !== null) return;
        if (address.includes(':')) expect(address).toMatch(/^[23][0-9a-f]{3}:/i);
        else expect(address).not.toMatch(/^(0|10|127|22[4-9]|23\d|24\d|25\d)\./);
      }),
      { numRuns: 3000 },
    );
  });
});
