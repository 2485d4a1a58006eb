import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claudeLocks } from '../../../../../src/stages/inject/logins/login-file.ts';
import { withLocks } from '../../../../../src/stages/inject/logins/login-lock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('one at a time, in whatever order they come, and nothing is left behind', async () => {
  let inside = 0;
  let most = 0;
  const done: number[] = [];
  const work = (number: number) =>
    withLocks([join(folder, 'a'), join(folder, 'b')], async () => {
      most = Math.max(most, ++inside);
      await pause(20);
      inside--;
      done.push(number);
    });
  await Promise.all([1, 2, 3].map(work));
  expect(most).toBe(1);
  expect(done.sort()).toEqual([1, 2, 3]);
  expect(readdirSync(folder)).toEqual([]);
});

test('what goes wrong inside lets go of it', async () => {
  const lock = join(folder, 'a');
  await expect(withLocks([lock], () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
  expect(existsSync(lock)).toBe(false);
});

test('one that another process holds is waited for', async () => {
  const lock = join(folder, 'a');
  mkdirSync(lock);
  let ran = false;
  const waiting = withLocks([lock], async () => {
    ran = true;
  });
  await pause(250);
  expect(ran).toBe(false);
  rmSync(lock, { recursive: true });
  await waiting;
  expect(ran).toBe(true);
});

test('one that nobody has touched for a while was left by a crash, and is taken', async () => {
  const lock = join(folder, 'a');
  mkdirSync(lock);
  const before = new Date(Date.now() - 11_000);
  utimesSync(lock, before, before);
  expect(await withLocks([lock], async () => existsSync(lock))).toBe(true);
  expect(existsSync(lock)).toBe(false);
});

test('where none can be made the work is done all the same: there nothing can be saved either', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  expect(await withLocks([join(file, 'lock')], async () => 'done')).toBe('done');
});

test('those of Claude Code are where it looks for them, wherever the file itself may be', () => {
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, '.claude'));
  expect(claudeLocks(join(folder, '.claude', '.credentials.json'))).toEqual([
    join(folder, '.claude', '.oauth_refresh.lock'),
    join(folder, 'real.lock'),
  ]);
});

test('an old one that cannot be removed is held by somebody: it is looked at in a while, not at once for ever', async () => {
  const lock = join(folder, 'a');
  mkdirSync(lock);
  writeFileSync(join(lock, 'of somebody'), '');
  const before = new Date(Date.now() - 11_000);
  utimesSync(lock, before, before);
  const cpuBefore = process.cpuUsage();
  const waiting = withLocks([lock], async () => 'done');
  await pause(1_000);
  const { user, system } = process.cpuUsage(cpuBefore);
  expect((user + system) / 1000).toBeLessThan(300);
  rmSync(lock, { recursive: true });
  expect(await waiting).toBe('done');
});
