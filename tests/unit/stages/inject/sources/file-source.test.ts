import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reveal } from '../../../../../src/path/secret.ts';
import { FileSource } from '../../../../../src/stages/inject/sources/file-source.ts';

let directory: string;
let path: string;
let clock: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-file-source-'));
  path = join(directory, 'key');
  clock = 0;
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(text: string | Buffer): void {
  writeFileSync(path, text, { mode: 0o600 });
}

function source(): FileSource {
  return new FileSource('k', path, () => clock);
}

describe('a credential in a file', () => {
  test.each([
    ['value\n', 'value'],
    ['value\r\n', 'value'],
    ['value', 'value'],
    ['two words \n', 'two words '],
  ])('%j is read as %j: one trailing newline is not part of it', (text, value) => {
    write(text);
    expect(reveal(source().current())).toBe(value);
  });

  test('is the same object while the file does not change, so that nothing is read on the hot path', () => {
    write('one');
    const file = source();
    const first = file.current();
    clock += 5000;
    expect(file.current()).toBe(first);
  });

  test('is looked at once a second, and a change is taken up', () => {
    write('one');
    const file = source();
    file.current();
    write('two');
    clock += 900;
    expect(reveal(file.current())).toBe('one');
    clock += 200;
    expect(reveal(file.current())).toBe('two');
  });

  test('is taken up when it is replaced by a file of the same size and time', () => {
    write('one');
    utimesSync(path, 1, 1);
    const file = source();
    file.current();
    const other = `${path}.new`;
    writeFileSync(other, 'two', { mode: 0o600 });
    utimesSync(other, 1, 1);
    renameSync(other, path);
    clock += 1500;
    expect(reveal(file.current())).toBe('two');
  });

  test('is not served from memory once the file has gone, and comes back with it', () => {
    write('one');
    const file = source();
    file.current();
    unlinkSync(path);
    clock += 1500;
    expect(() => file.current()).toThrow(`${path} does not exist`);
    expect(() => file.current()).toThrow(`${path} does not exist`);
    write('two');
    expect(reveal(file.current())).toBe('two');
  });

  test('may be reached through a symbolic link, as secret mounts are', () => {
    write('one');
    const alias = join(directory, 'alias');
    symlinkSync(path, alias);
    expect(reveal(new FileSource('k', alias).current())).toBe('one');
  });

  test.each([
    ['', 'is empty'],
    [' \n', 'is empty'],
    ['a\nb\n', 'control character'],
    ['a\0b', 'control character'],
    ['a\tb', 'control character'],
    ['a\n\n', 'control character'],
    ['x'.repeat(65_537), 'larger than'],
    [Buffer.from([0x61, 0xff, 0xfe]), 'not UTF-8'],
  ])('case %#: is refused with the reason and without the content', (text, reason) => {
    write(text);
    expect(() => source().current()).toThrow(reason);
  });

  test('must be a regular file with an absolute path', () => {
    expect(() => new FileSource('k', directory).current()).toThrow('not a regular file');
    expect(() => new FileSource('k', 'key').current()).toThrow('not an absolute path');
  });

  test('that is made readable for others later is no longer used', () => {
    write('one');
    const file = source();
    file.current();
    chmodSync(path, 0o644);
    clock += 1500;
    expect(() => file.current()).toThrow(`chmod 600 ${path}`);
  });
});

describe('a value in a file that an upstream refused', () => {
  test('is looked for again at once, and only another one counts', async () => {
    write('one');
    const file = source();
    const refused = file.current();
    expect(await file.renewed(refused)).toBeNull();
    write('two');
    expect(reveal(file.current())).toBe('one');
    const found = await file.renewed(refused);
    expect(found === null ? null : reveal(found)).toBe('two');
    expect(file.current()).toBe(found);
  });

  test('cannot be replaced by a file that is bad: why is said', async () => {
    write('one');
    const file = source();
    const refused = file.current();
    unlinkSync(path);
    await expect(file.renewed(refused)).rejects.toThrow('does not exist');
  });

  test('is replaced when a mount points to another folder, as Kubernetes does it', async () => {
    const mount = join(directory, 'mount');
    for (const [folder, value] of [
      ['..one', 'one'],
      ['..two', 'two'],
    ] as const) {
      mkdirSync(join(mount, folder), { recursive: true });
      writeFileSync(join(mount, folder, 'key'), value, { mode: 0o400 });
    }
    symlinkSync('..one', join(mount, '..data'));
    symlinkSync('..data/key', join(mount, 'key'));
    const file = new FileSource('k', join(mount, 'key'), () => clock);
    expect(reveal(file.current())).toBe('one');
    symlinkSync('..two', join(mount, '..data_tmp'));
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    clock += 1100;
    expect(reveal(file.current())).toBe('two');
  });
});

describe('files of several lines that hold one value', () => {
  test.each([
    ['-----BEGIN KEY-----\nabc\ndef\n-----END KEY-----\n', '-----BEGIN KEY----- abc def -----END KEY-----'],
    ['# created: today\n# public key: age1x\nAGE-SECRET-KEY-1ABC\n', 'AGE-SECRET-KEY-1ABC'],
    ['AGE-SECRET-KEY-1ABC\r\n\r\n# second\r\nAGE-SECRET-KEY-PQ-1DEF\r\n', 'AGE-SECRET-KEY-1ABC AGE-SECRET-KEY-PQ-1DEF'],
    [
      '{\n  "type": "service_account",\n  "private_key": "a\\nb"\n}\n',
      '{"type":"service_account","private_key":"a\\nb"}',
    ],
  ])('case %#: are put on one line', (text, value) => {
    write(text);
    expect(reveal(source().current())).toBe(value);
  });

  test.each(['{\n"cut": ', '# only a comment\n# and another', 'AGE-SECRET-KEY-1ABC\nX-Evil: 1', '{}\nX: 1'])(
    'case %#: nothing else is',
    (text) => {
      write(text);
      expect(() => source().current()).toThrow('control character');
    },
  );

  test('a pipe is refused at once: waiting for its other end would stop the whole gateway', async () => {
    execFileSync('mkfifo', ['-m', '600', path]);
    // Lets go of a gateway that waits, so that this test can fail.
    const writer = spawn('sh', ['-c', 'sleep 10; exec 3<>"$0"', path], { stdio: 'ignore' });
    const begun = performance.now();
    expect(() => source().current()).toThrow('is not a regular file');
    expect(performance.now() - begun).toBeLessThan(9000);
    writer.kill();
    await once(writer, 'exit');
  });
});
