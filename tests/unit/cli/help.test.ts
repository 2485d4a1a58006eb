import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { withSeparator } from '../../../src/cli/build-program.ts';
import { createContext } from '../../../src/cli/cli-context.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { runWith } from './command-line.ts';

const commands = [
  ['up'],
  ['register'],
  ['unregister'],
  ['renew'],
  ['list'],
  ['ps'],
  ['stop'],
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

test('a program in the place of a command is told how it runs in a sandbox; a typing mistake, what was meant', async () => {
  const claude = await runWith(['claude']);
  expect(claude.code).toBe(2);
  expect(claude.err).toContain("unknown command 'claude'\n(a program runs in a sandbox with: sallyport run -- claude)");
  const typo = await runWith(['runn', '--', 'bash']);
  expect(typo.err).toContain('(Did you mean run?)');
  expect(typo.err).not.toContain('a program runs');
});

test('run without a command says what to say', async () => {
  const { code, err } = await runWith(['run', '--repo', 'a/b']);
  expect(code).toBe(2);
  expect(err).toContain('sallyport: there is no command to run in the sandbox\nSay: sallyport run -- bash');
});

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

  test('the help of all of it is grouped by task', async () => {
    const { out } = await runWith(['--help']);
    const groups = [
      'Work:',
      'Sandboxes that run:',
      'Policy:',
      'Credentials:',
      'A gateway of its own:',
      'Is it right?',
      'This machine:',
    ];
    expect(out.match(/^\S.*[:?]$/gm)).toEqual(['Options:', ...groups, 'Examples:', 'Environment:', 'Exit codes:']);
    expect(out).not.toContain('\nCommands:');
    expect(out).not.toMatch(/^ {2}worker/m);
  });
});

describe('what stands behind the command of run is its own', async () => {
  const program = await buildProgram(
    createContext({ env: {}, cwd: '/', stdin: Readable.from([]), stdout: process.stdout, stderr: process.stderr }),
  );
  test.each([
    ['run bash -c x', 'run -- bash -c x'],
    ['run --repo a/b -q claude --json -p hi', 'run --repo a/b -q -- claude --json -p hi'],
    ['run --repo=a/b claude --repo c/d', 'run --repo=a/b -- claude --repo c/d'],
    ['--json run npm test -- --watch', '--json run -- npm test -- --watch'],
    ['run -- bash -c x', 'run -- bash -c x'],
    ['run --repo a/b -- bash', 'run --repo a/b -- bash'],
    ['exec web ls -l', 'exec --in web -- ls -l'],
    ['exec -it -w src web -- ls', 'exec -it -w src --in web -- ls'],
    ['exec -e A=b -- ls', 'exec -e A=b -- ls'],
    ['run --help', 'run --help'],
    ['run', 'run'],
    ['list --json', 'list --json'],
    ['secret set run bash -c', 'secret set run bash -c'],
  ])('%s', (typed, meant) => {
    expect(withSeparator(typed.split(' '), program).join(' ')).toBe(meant);
  });
});
