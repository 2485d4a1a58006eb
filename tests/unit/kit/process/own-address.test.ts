import type { NetworkInterfaceInfo } from 'node:os';
import { describe, expect, test } from 'vitest';
import { ownAddress } from '../../../../src/kit/process/own-address.ts';

const one = (address: string, family: 'IPv4' | 'IPv6'): NetworkInterfaceInfo =>
  ({ address, family, netmask: '', mac: '', internal: false, cidr: null, scopeid: 0 }) as NetworkInterfaceInfo;
const machine = {
  lo: [one('127.0.0.1', 'IPv4'), one('::1', 'IPv6')],
  eth0: [one('172.30.0.2', 'IPv4'), one('fd00:5::2', 'IPv6')],
  eth1: [one('172.31.0.2', 'IPv4'), one('172.31.0.3', 'IPv4')],
};

describe('a listener may be named by the subnet it is in', () => {
  test('the one address of this machine in it is taken', () => {
    expect(ownAddress('172.30.0.0/24', machine)).toBe('172.30.0.2');
    expect(ownAddress('fd00:5::/64', machine)).toBe('fd00:5::2');
  });

  test('an address or a name stays what it is', () => {
    expect(ownAddress('192.0.2.7', machine)).toBe('192.0.2.7');
    expect(ownAddress('localhost', machine)).toBe('localhost');
  });

  test('none and several are errors that say what there is', () => {
    expect(() => ownAddress('198.51.100.0/24', machine)).toThrow(
      /no address in 198\.51\.100\.0\/24 \(it has 127\.0\.0\.1/,
    );
    expect(() => ownAddress('172.31.0.0/16', machine)).toThrow(
      /several addresses .*172\.31\.0\.2, 172\.31\.0\.3.*name one/,
    );
  });
});
