import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

let ground: UninstallGround;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(() => ground.remove());

async function refuses(home: string, words: string, cwd?: string): Promise<void> {
  const before = ground.tree();
  const { code, err, out } = await ground.uninstall(['--yes'], { home, ...(cwd !== undefined && { cwd }) });
  expect([code === 0, out]).toEqual([false, '']);
  expect(err).toContain(words);
  expect(err).toContain('SALLYPORT_HOME');
  expect(ground.tree()).toEqual(before);
}

test('the root of the machine', () => refuses('/', 'it is /'));

test("the user's home, even when it looks like a state directory", async () => {
  for (const name of ['ca/ca.pem', 'registry.json', 'run/sandboxes/x']) ground.put(`user/${name}`);
  chmodSync(ground.userHome, 0o700);
  await refuses(ground.userHome, `it is ${ground.userHome}`);
  await refuses(`${ground.userHome}/project/..`, `it is ${ground.userHome}`);
});

test("a folder that holds the user's home", async () => {
  for (const name of ['ca/ca.pem', 'registry.json']) ground.put(name);
  chmodSync(ground.folder, 0o700);
  await refuses(ground.folder, `it holds ${ground.userHome}`);
});

test('a private folder with folders of the same names, which no gateway made', async () => {
  const project = join(ground.folder, 'user', 'server');
  for (const name of ['run/server.pid', 'cache/page', 'home/index.html', 'journal/2026.txt', 'ca/readme'])
    ground.put(`user/server/${name}`);
  chmodSync(project, 0o700);
  await refuses(project, 'does not look like a state directory');
});

test('an empty folder', async () => {
  const empty = join(ground.folder, 'user', 'empty');
  mkdirSync(empty, { mode: 0o700 });
  await refuses(empty, 'does not look like a state directory');
});
