import { chownSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

const stranger = 54321;
let ground: UninstallGround;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(() => ground.remove());

test('the state directory of another user is not touched, not even by root', async () => {
  chownSync(ground.home, stranger, stranger);
  const before = ground.tree();
  const { code, err } = await ground.uninstall(['--yes']);
  expect(code).toBe(2);
  expect(err).toContain(`belongs to user ${stranger}`);
  expect(ground.tree()).toEqual(before);
});

test('the configuration of another user is named and stays', async () => {
  chownSync(ground.config, stranger, stranger);
  const { code, out } = await ground.uninstall(['--yes']);
  expect(code).toBe(0);
  expect(out).toContain(`${ground.config} belongs to another user`);
  expect(ground.tree()).toContain('user/.config/sallyport/sallyport.yaml');
});
