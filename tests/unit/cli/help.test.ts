import { describe, expect, test } from 'vitest';
import { runWith } from './command-line.ts';

const commands = [
  ['up'],
  ['register'],
  ['unregister'],
  ['renew'],
  ['list'],
  ['secret', 'set'],
  ['secret', 'list'],
  ['secret', 'rm'],
  ['check'],
  ['config', 'check'],
  ['config', 'schema'],
  ['policy', 'test'],
  ['policy', 'explain'],
  ['logs'],
  ['audit', 'verify'],
  ['ca', 'path'],
  ['ca', 'export'],
  ['uninstall'],
];

describe('every command explains itself', () => {
  test.each(commands)('%s %s has help with an example and the exit codes', async (...words) => {
    const command = words.filter((word) => word !== undefined);
    const { code, out } = await runWith([...command, '--help']);
    expect(code).toBe(0);
    expect(out).toContain(`Usage: sallyport ${command.join(' ')}`);
    expect(out).toContain('Examples:');
    expect(out).toContain('Exit codes:');
    expect(out).toContain('--json');
  });

  test('the version is that of the package', async () => {
    const { out, code } = await runWith(['--version']);
    expect(out).toMatch(/^\d+\.\d+\.\d+/);
    expect(code).toBe(0);
  });

  test('an unknown command or option is wrong usage, exit 2', async () => {
    expect((await runWith(['frobnicate'])).code).toBe(2);
    const option = await runWith(['list', '--frobnicate']);
    expect(option.code).toBe(2);
    expect(option.err).toContain('--frobnicate');
  });
});
