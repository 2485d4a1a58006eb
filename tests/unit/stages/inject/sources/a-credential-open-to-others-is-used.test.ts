// Must not happen: a credential is taken from a file that other users of the host can read or write.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FileSource } from '../../../../../src/stages/inject/sources/file-source.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-open-'));
  path = join(directory, 'key');
  writeFileSync(path, 'value', { mode: 0o600 });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

describe('a credential file must be private', () => {
  test.each([0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666, 0o777])(
    'mode %o is refused with the command to run',
    (mode) => {
      chmodSync(path, mode);
      expect(() => new FileSource('k', path).current()).toThrow(`run  chmod 600 ${path}`);
    },
  );

  test('a private link to an open file does not help', () => {
    chmodSync(path, 0o644);
    const alias = join(directory, 'alias');
    symlinkSync(path, alias);
    expect(() => new FileSource('k', alias).current()).toThrow('open to other users');
  });

  test('a file of another user is refused', () => {
    // Only root can give a file away; anyone else takes the place of another user instead.
    if (process.geteuid?.() === 0) chownSync(path, 65_534, 65_534);
    else vi.spyOn(process, 'geteuid').mockReturnValue(65_533);
    expect(() => new FileSource('k', path).current()).toThrow('belongs to another user');
  });

  test('a FIFO in its place does not stop the gateway', () => {
    rmSync(path);
    execFileSync('mkfifo', ['-m', '600', path]);
    expect(() => new FileSource('k', path).current()).toThrow('not a regular file');
  });
});
