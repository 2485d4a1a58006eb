import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exitCode } from '../../../src/cli/terminal/exit-code.ts';
import { allPages, readPage, root } from './pages.ts';
import { exitCodeLines, leaves, program } from './program.ts';

const commands = leaves.map(({ words }) => words);

describe('the pages tell of the commands that there are', () => {
  test('every command of the program has its part of docs/commands.md, and no other', () => {
    const told = [...readPage('docs/commands.md').text.matchAll(/^## sallyport ([a-z -]+)$/gm)].map(
      ([, words]) => words,
    );
    expect(told.length).toBeGreaterThan(30);
    expect(told).toEqual(commands);
  });

  test('every exit code is explained, and no other', () => {
    const told = exitCodeLines().flatMap(([code, meaning]) => (code === 'run' ? meaning.match(/\d+/g)! : [code]));
    expect(told.map(Number).sort()).toEqual(Object.values(exitCode).sort());
  });

  test('what stands in a line to be typed, on any page, is a command', () => {
    const typed = allPages().flatMap(({ text }) => [...text.matchAll(/^(?:\$ )?\.\/sallyport ([^\n#|<&]+)/gm)]);
    expect(typed.length).toBeGreaterThan(3);
    for (const [line, rest] of typed) {
      const known = commands.some((command) => `${rest!.trim()} `.startsWith(`${command} `));
      expect(known, line).toBe(true);
    }
  });

  test('the options that docs/gateway.md uses exist', () => {
    const register = program.commands.find((command) => command.name() === 'register')!;
    for (const option of ['--env', '--ip', '--repo', '--proof']) {
      expect(register.options.map(({ long }) => long)).toContain(option);
    }
  });
});

describe('the README', () => {
  const { text } = readPage('README.md');

  test('has fewer than 150 lines', () => {
    expect(text.split('\n').length).toBeLessThan(150);
  });

  test('leads to every page of docs/', () => {
    const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
    for (const name of pages) expect(text, name).toContain(`](docs/${name})`);
  });

  test('shows a policy of at most twelve lines', () => {
    const [, policy = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(text)!;
    expect(policy).toMatch(/^version: 1$/m);
    expect(policy.trim().split('\n').length).toBeLessThanOrEqual(12);
  });
});

describe('docs/architecture.md tells of the house as it is', () => {
  const { text } = readPage('docs/architecture.md');
  const listing = /^ {4}src\/\n((?: {6}.*\n)+)/m.exec(text)![1]!;
  const told = [...listing.matchAll(/^ {6}([a-z0-9-]+(?:\/|\.ts))/gm)].map((match) => match[1]!);

  test('every room and every file beside them, and no other', () => {
    const there = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${entry.name}/` : entry.name,
    );
    expect(told.sort()).toEqual(there.sort());
  });

  test('every file that it names exists', () => {
    const named = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|cjs|mjs))`/g)].map(([, path]) => path!);
    expect(named.length).toBeGreaterThan(60);
    for (const path of named) {
      expect(existsSync(join(root, path)) || existsSync(join(root, 'src', path)), path).toBe(true);
    }
  });

  test('each step of its walks names the files to open, from the root', () => {
    const walks = text.split('## Three walks\n')[1]!.split('\n## ')[0]!.split('\n### ').slice(1);
    expect(walks.map((walk) => walk.split('\n')[0])).toEqual(['An API call', 'A refused push', '`run -- claude`']);
    for (const walk of walks) {
      const steps = walk.split(/^\d+\. /m).slice(1);
      expect(steps.length, walk).toBeGreaterThan(5);
      for (const step of steps) expect(step).toMatch(/`src\/[\w/.-]+\.ts`/);
    }
  });

  test('it has a picture with every room', () => {
    const [, picture = ''] = /^```mermaid\n([\s\S]*?)^```/m.exec(text)!;
    for (const room of told.filter((name) => name.endsWith('/') && name !== 'kit/' && name !== 'stages/')) {
      expect(picture, room).toContain(`src/${room.slice(0, -1)}`);
    }
    for (const stage of readdirSync(join(root, 'src/stages'))) expect(picture, stage).toContain(`${stage}["${stage}`);
  });
});
