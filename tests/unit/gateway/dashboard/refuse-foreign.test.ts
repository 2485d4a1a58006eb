import { describe, expect, test } from 'vitest';
import { isForeign, isLoopback, ownHosts } from '../../../../src/gateway/dashboard/refuse-foreign.ts';

describe('only this machine is served', () => {
  test.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])('%s is it', (peer) => {
    expect(isLoopback(peer)).toBe(true);
  });

  test.each([
    undefined,
    '',
    '192.0.2.7',
    '10.0.0.1',
    '0.0.0.0',
    '::',
    '::2',
    'fe80::1',
    '::ffff:192.0.2.7',
    '127.0.0.1.evil.example',
    '127.',
    '2001:db8::1',
  ])('%s is not', (peer) => {
    expect(isLoopback(peer)).toBe(false);
  });

  test('a peer from elsewhere is foreign whatever it says', () => {
    const hosts = ownHosts({ address: '127.0.0.1', port: 8642 });
    const headers = { host: '127.0.0.1:8642' };
    expect(isForeign({ peer: '127.0.0.1', headers, hostCount: 1 }, hosts)).toBe(false);
    expect(isForeign({ peer: '192.0.2.7', headers, hostCount: 1 }, hosts)).toBe(true);
  });
});

describe('the names it has', () => {
  test('are those of its address and of loopback, with its port', () => {
    expect([...ownHosts({ address: '127.0.0.5', port: 8642 })]).toEqual([
      'localhost:8642',
      '127.0.0.1:8642',
      '[::1]:8642',
      '127.0.0.5:8642',
    ]);
    expect(ownHosts({ address: '::1', port: 8642 })).toContain('[::1]:8642');
  });

  test('without a port only where a browser leaves it out', () => {
    expect(ownHosts({ address: '127.0.0.1', port: 80 })).toContain('127.0.0.1');
    expect(ownHosts({ address: '127.0.0.1', port: 443 })).not.toContain('127.0.0.1');
  });
});

test('an origin is ours only under the very name that was asked', () => {
  const hosts = ownHosts({ address: '127.0.0.1', port: 8642 });
  const from = (origin: string) =>
    isForeign({ peer: '127.0.0.1', headers: { host: '127.0.0.1:8642', origin }, hostCount: 1 }, hosts);
  expect(from('http://127.0.0.1:8642')).toBe(false);
  for (const origin of ['http://localhost:8642', 'http://127.0.0.1:8643', 'https://127.0.0.1:8642', 'null', ''])
    expect(from(origin)).toBe(true);
});
