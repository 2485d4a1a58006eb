import { describe, expect, test } from 'vitest';
import { openDnsPath } from '../../support/dns-path.ts';

const open = { allow: [{ host: 'api.example.com' }] };

describe('nobody is told of a name on the word of an earlier answer', () => {
  test('a name that was withdrawn is gone with the next question', async () => {
    const path = await openDnsPath(open);
    expect(path.lookup('api.example.com', 'A')).toBe(true);
    path.setPolicy({});
    expect(path.lookup('api.example.com', 'A')).toBe(false);
    expect(path.records).toHaveLength(1);
  });

  test('so is every name of a sandbox that was unregistered', async () => {
    const path = await openDnsPath(open);
    expect(path.lookup('api.example.com', 'A')).toBe(true);
    await path.registry.remove(path.id);
    expect(path.lookup('api.example.com', 'A')).toBe(false);
  });

  test('a refusal that is not written down a second time is no verdict that is remembered', async () => {
    const path = await openDnsPath({});
    expect(path.lookup('api.example.com', 'A')).toBe(false);
    path.setPolicy(open);
    expect(path.lookup('api.example.com', 'A')).toBe(true);
    path.setPolicy({});
    expect(path.lookup('api.example.com', 'A')).toBe(false);
    expect(path.records).toHaveLength(1);
  });

  test('not even while the journal is broken', async () => {
    const path = await openDnsPath({});
    expect(path.lookup('api.example.com', 'A')).toBe(false);
    path.setPolicy(open);
    path.journalFault = new Error('disk full');
    expect(path.lookup('api.example.com', 'A')).toBe(false);
  });
});
