import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { afterThisFile } from '../support/after-this-file.ts';

// The rule by which a whole run passes: a project of a few tests, with the real runner.

const holds = `test('holds', () => expect(1).toBe(1));`;
/** Fails the first time it is run, and never again. */
const starved = (name: string): string => `test('starved', () => {
  const seen = existsSync('seen-${name}');
  writeFileSync('seen-${name}', '');
  expect(seen).toBe(true);
});`;
/** Fails the first time, holds the second, fails the third. */
const everyOther = `test('every other', () => {
  const times = existsSync('times') ? Number(readFileSync('times', 'utf8')) : 0;
  writeFileSync('times', String(times + 1));
  expect(times % 2).toBe(1);
});`;
const astray = `${holds}
Promise.reject(new Error('belongs to no test'));`;

async function wholeRunOf(files: Record<string, string>): Promise<{ status: number | null; said: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-second-look-test-'));
  afterThisFile(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'scripts'));
  for (const name of ['test-all.mjs', 'second-look-reporter.mjs']) {
    cpSync(resolve('scripts', name), join(folder, 'scripts', name));
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'vitest.config.mjs'), 'export default { test: { include: ["*.test.mjs"] } };');
  const head = `import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
`;
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.test.mjs`), head + text);
  // The runner of this test speaks to its own by variables.
  const env: NodeJS.ProcessEnv = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name)),
  );
  const run = spawn(process.execPath, ['scripts/test-all.mjs'], { cwd: folder, env: { ...env, NO_COLOR: '1' } });
  let said = '';
  for (const stream of [run.stdout, run.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const [status] = await once(run, 'close');
  return { status, said };
}

test('a file that fails beside the others and holds three times alone is told loudly', async () => {
  const { status, said } = await wholeRunOf({ one: holds, two: starved('two') });
  expect({ status, said }).toMatchObject({ status: 0 });
  expect(said).toContain('FAILED BESIDE THE OTHERS AND HELD ALONE: two.test.mjs');
  expect(said.match(/Test Files .*1 passed.*\(1\)/g)).toHaveLength(3);
});

test.each<[string, Record<string, string>]>([
  ['a file that holds alone only now and then', { one: holds, two: everyOther }],
  [
    'more files than bad luck explains',
    Object.fromEntries(['one', 'two', 'three', 'four'].map((name) => [name, starved(name)])),
  ],
  ['an error that belongs to no test', { one: starved('one'), two: astray }],
])('%s fails the run', async (_, files) => {
  const { status, said } = await wholeRunOf(files);
  expect({ status, said }).toMatchObject({ status: 1 });
  expect(said).not.toContain('HELD ALONE');
});
