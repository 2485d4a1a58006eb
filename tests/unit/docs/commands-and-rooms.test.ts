import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createContext } from '../../../src/cli/cli-context.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { exitCode } from '../../../src/cli/terminal/exit-code.ts';
import { allPages, readPage, root, tableUnder } from './pages.ts';

const silent = { write: () => true };
const program = buildProgram(
  createContext({ env: {}, cwd: '/', stdin: Readable.from([]), stdout: silent, stderr: silent }),
);
const commands = leaves(program, []);

/** The commands that do something and are for people: `secret set`, not `secret`, nor what the gateway calls itself. */
function leaves(command: Command, words: readonly string[]): string[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
  if (below.length === 0) return [words.join(' ')];
  return below.flatMap((one) => leaves(one, [...words, one.name()]));
}

describe('the README tells of the commands that there are', () => {
  test('every command of the program is in its table, and no other', () => {
    const rows = tableUnder(readPage('README.md'), '## Commands');
    const told = rows.map(([command]) => /^`sallyport ([a-z -]+)`$/.exec(command!)?.[1]);
    expect(told).toEqual(expect.arrayContaining(commands));
    expect(commands).toEqual(expect.arrayContaining(told));
  });

  test('every exit code is in its table, and no other', () => {
    const rows = tableUnder(readPage('README.md'), '## Commands', 1);
    expect(rows.map(([code]) => Number(code)).sort()).toEqual(Object.values(exitCode).sort());
  });

  test('what stands in a line to be typed, on any page, is a command', () => {
    const typed = allPages().flatMap(({ text }) => [...text.matchAll(/^(?:\$ )?\.\/sallyport ([^\n#|<&]+)/gm)]);
    expect(typed.length).toBeGreaterThan(3);
    for (const [line, rest] of typed) {
      const known = commands.some((command) => `${rest!.trim()} `.startsWith(`${command} `));
      expect(known, line).toBe(true);
    }
  });

  test('the options it uses exist', () => {
    const register = program.commands.find((command) => command.name() === 'register')!;
    for (const option of ['--env', '--ip', '--repo', '--proof']) {
      expect(register.options.map(({ long }) => long)).toContain(option);
    }
  });
});

describe('docs/architecture.md tells of the rooms that there are', () => {
  const { text } = readPage('docs/architecture.md');
  const listing = /^ {4}src\/\n((?: {6}.*\n)+)/m.exec(text)![1]!;
  const told = [...listing.matchAll(/^ {6}([a-z0-9-]+(?:\/|\.ts))/gm)].map((match) => match[1]!);

  test('every room and every file beside them, and no other', () => {
    const there = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${entry.name}/` : entry.name,
    );
    expect(told.sort()).toEqual(there.sort());
  });
});
