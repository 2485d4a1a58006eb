import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { openDnsPath } from '../../../../support/dns-path.ts';

const policy = { allow: [{ host: 'api.example.com' }, { host: '*.corp.example.com', tunnel: true }] };

describe('a DNS question takes the path', () => {
  test('an allowed name is known, in any case, and leaves no record', async () => {
    const path = await openDnsPath(policy);
    expect(path.lookup('api.example.com', 'A')).toBe(true);
    expect(path.lookup('aPI.EXAMPLE.com', 'AAAA')).toBe(true);
    expect(path.lookup('a.corp.example.com', 'A')).toBe(true);
    expect(path.records).toEqual([]);
  });

  test('a refused one is written down with its sandbox, in the words of any other refusal', async () => {
    const path = await openDnsPath(policy);
    expect(path.lookup('Evil.Example', 'AAAA')).toBe(false);
    expect(path.records).toMatchObject([
      {
        sandbox: path.id,
        door: `namespace ${path.id}`,
        method: 'DNS',
        host: 'evil.example',
        path: '/AAAA',
        kind: 'lookup',
        verdict: 'refused',
        code: 'domain.not-allowed',
        reason: `evil.example is not on the allowlist of ${path.id}`,
      },
    ]);
  });

  test('questions are not counted against the requests of the sandbox', async () => {
    const path = await openDnsPath(policy);
    // One request a minute, one at a time.
    for (let i = 0; i < 10; i++) expect(path.lookup('api.example.com', 'A')).toBe(true);
  });

  test('a sandbox that is gone or over knows no name', async () => {
    const gone = await openDnsPath(policy);
    await gone.registry.remove(gone.id);
    expect(gone.lookup('api.example.com', 'A')).toBe(false);
    expect(gone.records).toMatchObject([{ code: 'sandbox.unknown' }]);
    const over = await openDnsPath(policy);
    over.advance(25 * 3600 * 1000);
    expect(over.lookup('api.example.com', 'A')).toBe(false);
    expect(over.records).toMatchObject([{ code: 'sandbox.expired' }]);
  });

  test('while nothing can be written down, nothing is told', async () => {
    const path = await openDnsPath(policy);
    path.journalFault = new Error('disk full');
    // Thrown, because it says nothing about the name: the client is told to ask again.
    expect(() => path.lookup('api.example.com', 'A')).toThrow('could not decide');
    path.journalFault = null;
    expect(path.lookup('api.example.com', 'A')).toBe(true);
  });

  test.each([
    ['münchen.example.com', 'malformed.host'],
    // Read as bytes, this would be the UTF-8 of the one before.
    ['mÃ¼nchen.example.com', 'malformed.host'],
    ['a b.example.com', 'malformed.host'],
    ['api.example.com/x', 'malformed.host'],
    ['api.example.com:443', 'target.literal-address'],
    ['api.example.com.', 'malformed.host'],
    ['', 'malformed.host'],
    ['-api.example.com', 'malformed.host'],
    ['203.0.113.5', 'target.literal-address'],
    ['0x7f000001', 'target.literal-address'],
    ['xn--zz.example.com', 'malformed.host'],
  ])('%j is no name', async (name, code) => {
    const path = await openDnsPath({ allow: [{ host: '*.example.com' }] });
    expect(path.lookup(name, 'A')).toBe(false);
    expect(path.records).toMatchObject([{ code, kind: 'lookup' }]);
  });
});

describe('what is asked again and again is written down once', () => {
  test('a name within a minute, whatever the type and the case', async () => {
    const path = await openDnsPath(policy);
    for (const name of ['evil.example', 'EVIL.example']) {
      for (const type of ['A', 'AAAA', 'HTTPS']) expect(path.lookup(name, type)).toBe(false);
    }
    expect(path.records).toHaveLength(1);
    path.lookup('other.example', 'A');
    expect(path.records).toHaveLength(2);
    path.advance(60_001);
    path.lookup('evil.example', 'A');
    expect(path.records.map(({ host }) => host)).toEqual(['evil.example', 'other.example', 'evil.example']);
  });

  test('what is remembered is bounded: the oldest name is forgotten first', async () => {
    const path = await openDnsPath(policy);
    for (let i = 0; i < 257; i++) path.lookup(`host-${i}.example`, 'A');
    expect(path.records).toHaveLength(257);
    path.lookup('host-256.example', 'A');
    path.lookup('host-1.example', 'A');
    expect(path.records).toHaveLength(257);
    path.lookup('host-0.example', 'A');
    expect(path.records).toHaveLength(258);
  });

  test('a flood is one record that says what happened', async () => {
    const path = await openDnsPath(policy);
    path.flooded(new Refusal('limit.rate', 'too many questions'));
    expect(path.records).toMatchObject([
      { door: `namespace ${path.id}`, kind: 'lookup', code: 'limit.rate', verdict: 'refused' },
    ]);
  });
});
