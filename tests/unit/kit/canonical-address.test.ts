import { describe, expect, test } from 'vitest';
import { callerAddress, canonicalAddress, isCallable } from '../../../src/kit/canonical-address.ts';

describe('an address has one spelling', () => {
  test.each([
    ['172.18.0.5', '172.18.0.5'],
    ['::ffff:172.18.0.5', '172.18.0.5'],
    ['::FFFF:ac12:5', '172.18.0.5'],
    ['0:0:0:0:0:ffff:ac12:0005', '172.18.0.5'],
    ['::172.18.0.5', '::ac12:5'],
    ['64:ff9b::172.18.0.5', '64:ff9b::ac12:5'],
    ['FD00:0:0::5', 'fd00::5'],
    ['fd00:0000:0000:0000:0000:0000:0000:0005', 'fd00::5'],
  ])('%s is %s', (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected);
  });

  test.each([
    '',
    'localhost',
    '172.18.0',
    '172.18.0.256',
    '0254.18.0.5',
    '0xac.18.0.5',
    '2886860805',
    '172.18.0.5:80',
    'fe80::1%eth0',
    '::ffff:172.18.0.256',
    '::ffff:0254.18.0.5',
    ' 172.18.0.5',
  ])('%j is none', (text) => {
    expect(canonicalAddress(text)).toBeNull();
  });

  test('a peer that a dual-stack listener reports in mapped form is its IPv4 address', () => {
    expect(callerAddress('::ffff:172.18.0.5')).toBe('172.18.0.5');
    expect(callerAddress('172.18.0.5')).toBe('172.18.0.5');
  });

  test('nobody calls from the unspecified, a multicast or the broadcast address', () => {
    for (const address of ['0.0.0.0', '::', '224.0.0.1', 'ff02::1', '255.255.255.255']) {
      expect(isCallable(address), address).toBe(false);
    }
    expect(isCallable('127.0.0.1')).toBe(true);
    expect(isCallable('fd00::5')).toBe(true);
  });
});
