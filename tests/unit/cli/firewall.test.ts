import { describe, expect, test } from 'vitest';
import { runWith } from './command-line.ts';

describe('sallyport firewall explains itself', () => {
  test.each(['print', 'apply', 'status', 'remove'])('%s has help with an example and the exit codes', async (name) => {
    const { code, out } = await runWith(['firewall', name, '--help']);
    expect(code).toBe(0);
    expect(out).toContain(`Usage: sallyport firewall ${name}`);
    expect(out).toContain('Examples:');
    expect(out).toContain('Exit codes:');
    expect(out).toContain('--json');
  });

  test('remove does not guess what to remove', async () => {
    const { code, err } = await runWith(['firewall', 'remove', '--all', '--bridge', 'br0']);
    expect(code).toBe(2);
    expect(err).toContain('--all');
    expect((await runWith(['firewall', 'remove'])).err).toContain('which network?');
  });
});
