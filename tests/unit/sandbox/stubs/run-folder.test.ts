import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { processBirth } from '../../../../src/kit/process/process-birth.ts';
import { cleanRunFolders, makeRunFolder } from '../../../../src/sandbox/stubs/run-folder.ts';

let base: string;
let parent: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'sallyport-run-folder-'));
  parent = join(base, 'sandboxes');
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

describe('the folder of a running sandbox', () => {
  test('is private, and gone when it is removed, folders that nobody may write to included', async () => {
    const folder = makeRunFolder(parent, 'sbx_one');
    expect(statSync(folder.home).mode & 0o777).toBe(0o700);
    const closed = join(folder.home, 'go', 'pkg');
    mkdirSync(closed, { recursive: true });
    writeFileSync(join(closed, 'file'), 'x');
    chmodSync(closed, 0o500);
    await folder.remove();
    expect(readdirSync(parent)).toEqual([]);
  });

  test('takes nothing with it that a link in it points to', async () => {
    const precious = join(base, 'precious');
    mkdirSync(precious);
    writeFileSync(join(precious, 'file'), 'x');
    const folder = makeRunFolder(parent, 'sbx_one');
    symlinkSync(precious, join(folder.home, 'link'));
    await folder.remove();
    expect(existsSync(join(precious, 'file'))).toBe(true);
  });

  test('of a launcher that was killed is removed by the next start, that of a living one is not', async () => {
    const child = spawn('sleep', ['60']);
    const birth = processBirth(child.pid!);
    const living = makeRunFolder(parent, 'sbx_living');
    const killed = join(parent, `sbx_killed.${child.pid}.${birth}`);
    // The number has come again, for another process.
    const reborn = join(parent, `sbx_reborn.${process.pid}.1`);
    for (const path of [killed, reborn, join(parent, 'no owner at all')]) mkdirSync(path);
    expect(await cleanRunFolders(parent)).toBe(2);
    expect(existsSync(killed)).toBe(true);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.on('close', resolve));
    expect(await cleanRunFolders(parent)).toBe(1);
    expect(readdirSync(parent)).toHaveLength(1);
    expect(existsSync(living.home)).toBe(true);
  });

  test('is not missed where there was never one', async () => {
    expect(await cleanRunFolders(parent)).toBe(0);
  });
});
