import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

let ground: UninstallGround;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(() => ground.remove());

// What a sandbox with a kept home can lay: links to whatever it would like to see gone.
test('links that lead out of the state directory are removed, and what they lead to stays', async () => {
  const { home, folder, userHome } = ground;
  const precious = join(folder, 'precious');
  symlinkSync(precious, join(home, 'home', 'link'));
  symlinkSync('../../../..', join(home, 'home', 'up'));
  symlinkSync(join(precious, 'letter'), join(home, 'sandboxes', 'file'));
  // Also in the place of a folder that the command itself names.
  rmSync(join(home, 'cache'), { recursive: true });
  symlinkSync(precious, join(home, 'cache'));
  rmSync(join(home, 'runs'), { recursive: true });
  symlinkSync(userHome, join(home, 'runs'));
  const before = ground.tree().filter((path) => !/^user\/\.(?:local\/state|config)\/sallyport\//.test(path));
  const { code } = await ground.uninstall(['--yes']);
  expect(code).toBe(0);
  expect(ground.tree()).toEqual(before);
  expect(before).toContain('precious/letter');
});

test('also where journals are kept: no folder is entered through a link', async () => {
  const { home, folder } = ground;
  ground.put('precious/999999-1/registry.json');
  rmSync(join(home, 'runs'), { recursive: true });
  symlinkSync(join(folder, 'precious'), join(home, 'runs'));
  symlinkSync(join(folder, 'precious', '999999-1'), join(home, 'run', 'link'));
  const { code, out } = await ground.uninstall(['--yes', '--keep-journal']);
  expect(code).toBe(0);
  expect(out).not.toContain('999999-1');
  expect(ground.tree()).toContain('precious/999999-1/registry.json');
  expect(ground.tree().some((path) => path.includes('sallyport/runs'))).toBe(false);
});

test('nor into the folder of one run that is a link', async () => {
  const { home, folder } = ground;
  ground.put('precious/run/registry.json');
  symlinkSync(join(folder, 'precious', 'run'), join(home, 'runs', '7-7'));
  const { code, out } = await ground.uninstall(['--yes', '--keep-journal']);
  expect(code).toBe(0);
  expect(out).not.toContain('7-7/registry.json');
  expect(ground.tree()).toContain('precious/run/registry.json');
  expect(ground.tree().some((path) => path.includes('runs/7-7'))).toBe(false);
});

test('a folder for the configuration that is a link is only named', async () => {
  const { userHome, folder } = ground;
  rmSync(join(userHome, '.config', 'sallyport'), { recursive: true });
  ground.put('precious/sallyport.yaml', 'version: 1\n');
  symlinkSync(join(folder, 'precious'), join(userHome, '.config', 'sallyport'));
  const { code, out } = await ground.uninstall(['--yes']);
  expect(code).toBe(0);
  expect(ground.tree()).toContain('precious/sallyport.yaml');
  expect(out).toContain('is reached through a link');
});
