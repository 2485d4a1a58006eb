import { chmodSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

let ground: UninstallGround;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(() => ground.remove());

test('a state directory that is a link to another folder is refused, and nothing is removed', async () => {
  // What it leads to looks like a state directory in every way.
  renameSync(ground.home, join(ground.folder, 'precious', 'state'));
  symlinkSync(join(ground.folder, 'precious', 'state'), ground.home);
  const before = ground.tree();
  const { code, err } = await ground.uninstall(['--yes']);
  expect(code).toBe(2);
  expect(err).toContain('is a symbolic link');
  expect(ground.tree()).toEqual(before);
});

test('nor is a folder above it that is a link', async () => {
  mkdirSync(join(ground.folder, 'elsewhere'));
  renameSync(ground.home, join(ground.folder, 'elsewhere', 'sallyport'));
  const link = join(ground.folder, 'way');
  symlinkSync(join(ground.folder, 'elsewhere'), link);
  const before = ground.tree();
  const { code, err } = await ground.uninstall(['--yes'], { home: join(link, 'sallyport') });
  expect(code).toBe(2);
  expect(err).toContain('is a symbolic link');
  expect(ground.tree()).toEqual(before);
});

test('nor one that other users may write to, who could swap what is in it', async () => {
  chmodSync(ground.home, 0o777);
  const before = ground.tree();
  const { code, err } = await ground.uninstall(['--yes']);
  expect(code).toBe(2);
  expect(err).toContain('open to other users');
  expect(ground.tree()).toEqual(before);
});
