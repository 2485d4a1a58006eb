import { describe, expect, test } from 'vitest';
import { expiryOf, readLfsAddress } from '../../../../../../src/stages/authorize/git/lfs/lfs-address.ts';

describe('an address of a storage is read in one way', () => {
  test.each([
    ['https://s.example/a/b?c=d%2F&e', 's.example', 443, '/a/b?c=d%2F&e'],
    ['https://S.Example:8443/a', 's.example', 8443, '/a'],
    ['HTTPS://s.example', 's.example', 443, '/'],
    ['https://s.example?sig=1', 's.example', 443, '/?sig=1'],
    // Signed as it stands: nothing of it is normalised.
    ["https://s.example/a/../b//'x'?q=%7e'", 's.example', 443, "/a/../b//'x'?q=%7e'"],
    ['https://xn--bcher-kva.example/a', 'xn--bcher-kva.example', 443, '/a'],
  ])('%s', (href, host, port, target) => {
    expect(readLfsAddress({ href })).toEqual({ origin: { scheme: 'https', host, port }, target, headers: [] });
  });

  test.each([
    'http://s.example/',
    '//s.example/',
    'https:/s.example/',
    'https://s.example:0/',
    'https://s.example:70000/',
    'https://s.example:/',
    'https://a@s.example/',
    'https://s.example@10.0.0.1/',
    'https://192.168.0.1/',
    'https://s.127.1/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://s..example/',
    'https://-s.example/',
    'https://bücher.example/',
    'https://s.example/ ',
    'https://s.example/\u010a',
    'https://s.example/#a',
    'https://s.example\\a',
    `https://s.example/${'a'.repeat(9000)}`,
  ])('not %j', (href) => {
    expect(() => readLfsAddress({ href })).toThrow(/https address|name a host|valid port/);
  });

  test('its fields keep their order and case, without those that the gateway writes', () => {
    const header = {
      Authorization: 'Basic x',
      host: 'a',
      'transfer-encoding': 'chunked',
      'Proxy-X': '1',
      'x-amz-date': '2',
    };
    expect(readLfsAddress({ href: 'https://s.example/', header }).headers).toEqual([
      ['Authorization', 'Basic x'],
      ['x-amz-date', '2'],
    ]);
  });

  test.each([
    ['too many', Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, '1']))],
    ['too long', { 'x-a': 'a'.repeat(17_000) }],
    ['a pseudo field', { ':authority': 'a' }],
    ['a letter that Latin-1 cuts down to a line end', { 'x-a': 'a\u010a' }],
    ['one twice', { 'X-A': '1', 'x-a': '1' }],
  ])('fields are refused when they are %s', (_, header) => {
    expect(() => readLfsAddress({ href: 'https://s.example/', header })).toThrow('comes with');
  });
});

describe('an address lives as long as the storage says, and never longer than a day', () => {
  const now = Date.parse('2026-05-01T12:00:00Z');
  const hour = 3600_000;

  test.each([
    ['an hour when nothing is said', {}, hour],
    ['so many seconds', { expires_in: 90 }, 90_000],
    ['seconds before a date', { expires_in: 90, expires_at: '2026-05-01T15:00:00Z' }, 90_000],
    ['until a date', { expires_at: '2026-05-01T12:30:00Z' }, hour / 2],
    ['until a date in another zone', { expires_at: '2026-05-01T14:30:00+02:00' }, hour / 2],
    ['a day at most, in seconds', { expires_in: 1e9 }, 24 * hour],
    ['a day at most, until a date', { expires_at: '2030-01-01T00:00:00Z' }, 24 * hour],
    ['no time when it is over', { expires_at: '2026-05-01T11:59:00Z' }, -60_000],
    [
      'an hour for what servers in Go say instead of nothing',
      { expires_in: 0, expires_at: '0001-01-01T00:00:00Z' },
      hour,
    ],
    ['an hour for a date that is none', { expires_at: 'soon' }, hour],
  ])('%s', (_, said, life) => {
    expect(expiryOf({ href: '', ...said }, now) - now).toBe(life);
  });
});
