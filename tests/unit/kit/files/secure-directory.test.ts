import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkPrivateDirectory, ensurePrivateDirectory } from '../../../../src/kit/files/secure-directory.ts';

let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'sallyport-place-'));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const mode = (path: string) => lstatSync(path).mode & 0o777;

describe('a private directory', () => {
  test('is made with 0700, and so is every directory made on the way, whatever the umask', () => {
    const before = process.umask(0);
    try {
      ensurePrivateDirectory(join(base, 'a', 'b', 'c'));
    } finally {
      process.umask(before);
    }
    for (const part of ['a', 'a/b', 'a/b/c']) expect(mode(join(base, part))).toBe(0o700);
  });

  test('that is already there and private is left as it is', () => {
    ensurePrivateDirectory(base);
    writeFileSync(join(base, 'kept'), 'x');
    ensurePrivateDirectory(base);
    expect(lstatSync(join(base, 'kept')).isFile()).toBe(true);
  });

  test('that does not exist is an error for the one who only checks', () => {
    expect(() => checkPrivateDirectory(join(base, 'missing'))).toThrow('does not exist');
  });

  test('is not a file', () => {
    writeFileSync(join(base, 'file'), '');
    expect(() => ensurePrivateDirectory(join(base, 'file'))).toThrow('is not a directory');
  });
});

describe('a doubtful place is an error that says what to do, and is not repaired', () => {
  test.each([0o750, 0o705, 0o770, 0o777, 0o711])('a directory with mode %o', (doubtful) => {
    const path = join(base, 'open');
    mkdirSync(path);
    chmodSync(path, doubtful);
    expect(() => ensurePrivateDirectory(path)).toThrow(`chmod 700 ${path}`);
    expect(mode(path)).toBe(doubtful);
  });

  test('a symbolic link in its place', () => {
    mkdirSync(join(base, 'real'), { mode: 0o700 });
    symlinkSync(join(base, 'real'), join(base, 'link'));
    expect(() => ensurePrivateDirectory(join(base, 'link'))).toThrow('is a symbolic link');
  });

  test('a symbolic link above it, also a dangling one: nothing is made behind it', () => {
    mkdirSync(join(base, 'real'), { mode: 0o700 });
    symlinkSync(join(base, 'real'), join(base, 'link'));
    expect(() => ensurePrivateDirectory(join(base, 'link', 'run'))).toThrow('is a symbolic link');
    expect(() => lstatSync(join(base, 'real', 'run'))).toThrow('ENOENT');
    symlinkSync(join(base, 'nowhere'), join(base, 'dangling'));
    expect(() => ensurePrivateDirectory(join(base, 'dangling', 'run'))).toThrow('is a symbolic link');
  });

  test('a directory above it that others may write to', () => {
    mkdirSync(join(base, 'shared'));
    chmodSync(join(base, 'shared'), 0o775);
    expect(() => ensurePrivateDirectory(join(base, 'shared', 'run'))).toThrow(`chmod go-w ${join(base, 'shared')}`);
  });

  test('but a sticky one, such as /tmp, is fine: nobody can rename what is ours there', () => {
    mkdirSync(join(base, 'sticky'));
    chmodSync(join(base, 'sticky'), 0o1777);
    ensurePrivateDirectory(join(base, 'sticky', 'run'));
    expect(mode(join(base, 'sticky', 'run'))).toBe(0o700);
  });

  test('a directory of somebody else', () => {
    const stranger = (process.geteuid?.() ?? 0) + 1;
    expect(() => checkPrivateDirectory(base, stranger)).toThrow(/belongs to user \d+, not to user \d+/);
  });

  test('a directory below one of somebody else, who could put another in its place', () => {
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) chownSync(base, 65534, 65534);
    // An ordinary user cannot give a directory away, but can ask as if they were somebody else.
    const owner = isRoot ? 0 : (process.geteuid?.() ?? 0) + 1;
    expect(() => ensurePrivateDirectory(join(base, 'run'), owner)).toThrow('who could replace');
    expect(() => lstatSync(join(base, 'run'))).toThrow('ENOENT');
  });
});
