import { copyFileSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { notStarted } from '../../../../src/cli/run.ts';
import { exitCode, judgeError } from '../../../../src/cli/terminal/exit-code.ts';
import { systemSentence } from '../../../../src/cli/terminal/system-error.ts';
import { LaunchError } from '../../../../src/sandbox/run/sandbox-plan.ts';

function thrownBy(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not throw');
}

/** As Node says it. */
function system(code: string, syscall: string, path: string, dest?: string): Error {
  const words = `${code}: some words of the system, ${syscall} '${path}'`;
  return Object.assign(new Error(words), { code, syscall, path, ...(dest !== undefined && { dest }) });
}

test.each([
  [system('EACCES', 'lstat', '/srv/x'), 'you may not use /srv/x: its permissions', 'namei -l /srv/x'],
  [system('ENOSPC', 'copyfile', '/a', '/b/c'), 'the disk is full: /a, or /b/c could not be written', 'df -h /b/c'],
  [system('ENOSPC', 'write', '/home/u/run.log'), 'the disk is full: /home/u/run.log', 'Make room'],
  [system('EDQUOT', 'write', '/home/u/x'), 'your quota of the disk is used up', 'quota -s'],
  [system('EROFS', 'mkdir', '/ro/x'), '/ro/x is on a file system that is read-only', 'SALLYPORT_HOME'],
  [system('EMFILE', 'open', '/x'), 'too many open files', 'ulimit -n'],
  [system('EADDRINUSE', 'listen', '127.0.0.1:1'), 'another program already listens there', 'listen'],
])('%s is a sentence, with what to do', (error, message, hint) => {
  const verdict = judgeError(error);
  expect(verdict.code).toBe(exitCode.failure);
  expect(verdict.message).toContain(message);
  expect(verdict.hint).toContain(hint);
  expect(`${verdict.message}${verdict.hint}`).not.toMatch(/FILE|\bE[A-Z]{4,}|lstat|copyfile/);
});

test('an error that names no file is told with the place it was at, and never with a call of the system', () => {
  const nameless = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  expect(systemSentence(nameless)?.message).toBe('the disk is full: something could not be written');
  expect(systemSentence(nameless, '/home/u/state')).toEqual({
    message: 'the disk is full: /home/u/state could not be written',
    hint: 'Make room, and try again. To see where there is none: df -h /home/u/state; df -i /home/u/state',
  });
});

test('what keeps a sandbox from starting ends with 125, a full disk too', () => {
  const full = notStarted(system('ENOSPC', 'copyfile', '/etc/ssl/a', '/home/u/b'));
  expect(judgeError(full)).toMatchObject({ code: 125, message: expect.stringContaining('the disk is full') });
  expect(judgeError(notStarted(new LaunchError('no', 'do this')))).toEqual({
    code: 125,
    message: 'no',
    hint: 'do this',
  });
});

test('errors of the real system are known by it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-system-'));
  writeFileSync(join(folder, 'file'), '');
  expect(systemSentence(thrownBy(() => lstatSync(join(folder, 'file', 'x'))))?.message).toContain(
    'is a file and no folder',
  );
  expect(systemSentence(thrownBy(() => readFileSync(folder)))?.message).toMatch(/is a folder|a file is needed/);
  expect(systemSentence(thrownBy(() => copyFileSync(join(folder, 'gone'), folder)))?.message).toContain('is not there');
  rmSync(folder, { recursive: true });
});

test('what is no error of the system, or has its own words, stays as it is', () => {
  expect(systemSentence(new Error('EACCES'))).toBeNull();
  expect(systemSentence(Object.assign(new Error('x'), { code: 'ERR_ASSERTION' }))).toBeNull();
  expect(judgeError(new Error('in its own words')).message).toBe('in its own words');
});
