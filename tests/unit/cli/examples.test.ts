// Every command tells how it is used by examples, and every example is one that the program would take.
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createContext } from '../../../src/cli/cli-context.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { runWith } from './command-line.ts';

const silent = { write: () => true };
const program = await buildProgram(
  createContext({ env: {}, cwd: '/', stdin: Readable.from([]), stdout: silent, stderr: silent }),
);
const commands = [[], ...below(program, [])];

/** The words of every command that is shown, those with commands of their own included. */
function below(command: Command, words: readonly string[]): string[][] {
  const shown = command.createHelp().visibleCommands(command);
  return shown
    .filter((one) => one.name() !== 'help')
    .flatMap((one) => [[...words, one.name()], ...below(one, [...words, one.name()])]);
}

/** The command lines of its block of examples, joined where a backslash carries one on. */
async function examplesOf(words: readonly string[]): Promise<string[]> {
  const { out } = await runWith([...words, '--help']);
  const block = /^Examples:\n((?: {2}.*\n?)+)/m.exec(out)?.[1] ?? '';
  const lines = block.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines.map((line) => line.trim()).filter((line) => /(?:^|[|&(;] *)(?:sudo |\S+=\S+ )*sallyport /.test(line));
}

/** The words behind `sallyport`, up to what belongs to the shell or is said about it. */
function wordsOf(line: string): string[] {
  const own = /(?:^|[|&(;] *)(?:sudo |\S+=\S+ )*sallyport (.*)$/.exec(line)![1]!;
  const [said = ''] = own.split(/ {2,}| +[|&;#<>]|\)/);
  return [...said.matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([word]) => word.replace(/^(["'])(.*)\1$/, '$2'));
}

/** What is wrong with a command line; null: nothing. Takes it as far as the action and no further. */
async function problemOf(words: readonly string[]): Promise<string | null> {
  let problem: string | null = null;
  const tried = await buildProgram(
    createContext({ env: {}, cwd: '/', stdin: Readable.from([]), stdout: silent, stderr: silent }),
  );
  const disarm = (command: Command): void => {
    command.action(() => {});
    command.commands.forEach(disarm);
  };
  tried.commands.forEach(disarm);
  try {
    tried.parse([...words], { from: 'user' });
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  return problem;
}

describe('help with examples everywhere', () => {
  test.each(commands.map((words) => [words.join(' ') || 'sallyport itself', words] as const))(
    '%s shows an example, and every one of them is a line that it takes',
    async (_name, words) => {
      const examples = await examplesOf(words);
      expect(examples.length).toBeGreaterThan(0);
      for (const line of examples) expect(await problemOf(wordsOf(line)), line).toBe(null);
      // At least one of them is of this command.
      expect(examples.some((line) => words.every((word, at) => wordsOf(line)[at] === word))).toBe(true);
    },
  );

  test('an example that would not be taken is found', async () => {
    expect(await problemOf(['run', '--frobnicate', '--', 'claude'])).toContain('--frobnicate');
    expect(await problemOf(['frobnicate'])).toContain('frobnicate');
    expect(await problemOf(['run', '--launcher', 'chroot', '--', 'x'])).toContain('chroot');
    expect(await problemOf(['run', '--repo', 'o/r', '--', 'claude', '--resume'])).toBe(null);
  });
});
