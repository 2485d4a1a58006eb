import { describe, expect, test } from 'vitest';
import { describeShim } from '../../../src/cli/shim.ts';
import { runWith } from './command-line.ts';

describe('sallyport shim', () => {
  test('explains itself with examples', async () => {
    const { code, out } = await runWith(['shim', '--help']);
    expect(code).toBe(0);
    for (const part of ['Usage: sallyport shim', 'Examples:', 'Exit codes:', '--json', '--for-uid', 'HTTPS_PROXY']) {
      expect(out).toContain(part);
    }
  });

  test('wants to know the gateway, the identity and whom it serves', async () => {
    const given = ['shim', '--gateway', 'g:1', '--identity', '/nonexistent', '--for-uid', '1000'];
    for (const missing of ['--gateway', '--identity', '--for-uid']) {
      const at = given.indexOf(missing);
      const { code, err } = await runWith(given.filter((_, index) => index !== at && index !== at + 1));
      expect(code).toBe(2);
      expect(err).toContain(missing);
    }
  });

  test('ends with 2 and with words where it must not run', async () => {
    const { code, err } = await runWith(['shim', '--gateway', 'g', '--identity', '/nonexistent', '--for-uid', '1000']);
    expect(code).toBe(2);
    expect(err).toMatch(/--gateway g is not a host and a port\nWrite it like/);
  });

  test('says in one line what it is', () => {
    const shim = { sandbox: 'box', listen: '127.0.0.1:3128', gateway: 'g:8443', expiresAt: '2027-01-15T00:00:00.000Z' };
    expect(describeShim(shim)).toBe(
      'shim for sandbox box: 127.0.0.1:3128 -> g:8443, certificate until 2027-01-15T00:00:00.000Z',
    );
  });
});
