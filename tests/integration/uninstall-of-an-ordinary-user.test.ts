import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

const user = 54321;
let command: BuiltCommand;
let state: string;

beforeAll(() => {
  command = buildCommand({});
  chmodSync(command.home, 0o755);
  state = join(command.home, 'user', 'state');
});

afterAll(() => command.remove());

// Root may write everywhere: only somebody else can see what such folders keep.
test('folders that a sandbox closed go too, also those that lie deep', async () => {
  const deepest = join(state, 'home', 'd/'.repeat(70));
  for (const path of [deepest, join(state, 'journal')]) mkdirSync(path, { recursive: true });
  writeFileSync(join(state, 'journal', 'head'), '');
  for (let path = deepest; path !== state; path = dirname(path)) {
    chownSync(path, user, user);
    chmodSync(path, 0o500);
  }
  for (const path of ['..', '.', 'journal', 'journal/head']) chownSync(join(state, path), user, user);
  chmodSync(state, 0o700);
  const asUser = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', process.execPath];
  const words = [...asUser, join(command.home, 'package', 'dist', 'main.cjs'), 'uninstall', '--yes'];
  const run = await runClient('setpriv', words, { env: { SALLYPORT_HOME: state, NO_COLOR: '1' }, cwd: '/tmp' });
  expect([run.code, run.stdout]).toEqual([0, expect.stringContaining(`removed  ${state}\n`)]);
  expect(existsSync(state)).toBe(false);
});
