// Guards: `sallyport run` looks for the user's key in files of the home. Whoever could put another file there, or lead
// the look elsewhere, would have prompts sent on an account of theirs, or a file read that is none of ours.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TakenEnvironment } from '../../../src/stages/inject/sources/environment-source.ts';
import { type UserKey, UserKeys } from '../../../src/stages/inject/sources/user-keys.ts';

const content = JSON.stringify({ OPENAI_API_KEY: 'sk-planted' });
let ground: string;
let home: string;
let file: string;

beforeEach(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-planted-'));
  home = join(ground, 'home');
  file = join(home, '.codex', 'auth.json');
  mkdirSync(join(home, '.codex'), { recursive: true });
});
afterEach(() => rmSync(ground, { recursive: true }));

function look(): UserKey {
  return new UserKeys({ home, workingDirectory: home, env: {} }).find('openai', new TakenEnvironment({}));
}

function expectLeftAlone(why: string): void {
  const found = look();
  expect(found.source).toBeNull();
  expect(found.problem).toContain(why);
  expect(found.problem).not.toContain('sk-planted');
}

test('a file in order is used, so that what follows is refused for its own reason', () => {
  writeFileSync(file, content, { mode: 0o600 });
  expect(look()).toMatchObject({ origin: '~/.codex/auth.json', problem: null });
});

test('a link to a file outside the home', () => {
  writeFileSync(join(ground, 'elsewhere.json'), content, { mode: 0o600 });
  symlinkSync(join(ground, 'elsewhere.json'), file);
  expectLeftAlone('leads out of the home');
});

test('a linked folder outside the home, also one whose name begins like the home', () => {
  rmSync(join(home, '.codex'), { recursive: true });
  mkdirSync(`${home}-two`);
  writeFileSync(join(`${home}-two`, 'auth.json'), content, { mode: 0o600 });
  symlinkSync(`${home}-two`, join(home, '.codex'));
  expectLeftAlone('leads out of the home');
});

test('a link that stays in the home is the user’s own way to keep files', () => {
  mkdirSync(join(home, 'dotfiles'));
  writeFileSync(join(home, 'dotfiles', 'auth.json'), content, { mode: 0o600 });
  symlinkSync('../dotfiles/auth.json', file);
  expect(look().source).not.toBeNull();
});

test.runIf(process.geteuid?.() === 0)('a file of another user', () => {
  writeFileSync(file, content, { mode: 0o644 });
  chownSync(file, 54_321, 54_321);
  expectLeftAlone('belongs to another user (uid 54321)');
});

test('a file that every user may write to', () => {
  writeFileSync(file, content);
  chmodSync(file, 0o666);
  expectLeftAlone('every user may write to it');
});

test('a FIFO, which would stop the gateway until somebody writes', () => {
  execFileSync('mkfifo', [file]);
  expectLeftAlone('not a regular file');
});

test('a folder', () => {
  mkdirSync(file);
  expectLeftAlone('not a regular file');
});

test('a file of any size', () => {
  writeFileSync(file, content, { mode: 0o600 });
  truncateSync(file, 16 * 1024 * 1024 + 1);
  expectLeftAlone('larger than 16 MiB');
});
