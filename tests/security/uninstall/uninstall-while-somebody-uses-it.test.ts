import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeLock } from '../../../src/kit/files/file-lock.ts';
import { processBirth } from '../../../src/kit/process/process-birth.ts';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

let ground: UninstallGround;
let child: ChildProcess | null = null;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(async () => {
  if (child !== null) {
    const ended = once(child, 'exit');
    child.stdin?.end();
    await ended;
    child = null;
  }
  ground.remove();
});

/** Ends with its input. */
async function startChild(words: readonly string[]): Promise<number> {
  const [program, ...args] = words;
  child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  return child.pid!;
}

async function refuses(words: string | RegExp, hint: string | RegExp): Promise<void> {
  const before = ground.tree();
  for (const option of ['--dry-run', '--yes']) {
    const { code, err, out } = await ground.uninstall([option]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(words);
    expect(err).toMatch(hint);
  }
  expect(ground.tree()).toEqual(before);
}

test('a gateway that answers on its socket: its process is named, with how to stop it', async () => {
  const server = createServer().listen(join(ground.home, 'run', 'admin.sock'));
  await once(server, 'listening');
  try {
    await refuses(`a gateway is running on ${ground.home} (process ${process.pid})`, `kill ${process.pid}`);
  } finally {
    server.close();
  }
});

test('a gateway that holds the journal and does not answer yet', async () => {
  const release = takeLock(join(ground.home, 'journal', 'lock'))!;
  try {
    await refuses('a gateway is running', 'Stop it');
  } finally {
    release();
  }
});

test('a gateway of a `run` that lives beside another', async () => {
  const release = takeLock(join(ground.home, 'runs', '999999-1', 'journal', 'lock'))!;
  try {
    await refuses(/a gateway is running on .*runs\/999999-1/, 'Stop it');
  } finally {
    release();
  }
});

test('a sandbox whose launcher lives', async () => {
  const pid = await startChild(['sh', '-c', 'echo ready; exec cat']);
  const folders = join(ground.home, 'sandboxes');
  renameSync(join(folders, 'sbx.999999.1'), join(folders, `sbx.${pid}.${processBirth(pid)}`));
  await refuses(`is running (process ${pid})`, `kill ${pid}`);
});

test('a process that still has a part of it mounted', async () => {
  const script = `mount --bind "${ground.home}/home" /mnt && echo ready && exec cat`;
  const pid = await startChild(['unshare', '--mount', 'sh', '-c', script]);
  await refuses(`process ${pid} still has a part of ${ground.home} mounted`, `ps -fp ${pid}`);
});

test('when nobody does, it is removed', async () => {
  expect((await ground.uninstall(['--yes'])).code).toBe(0);
  expect(ground.tree().some((path) => path.includes('state/sallyport'))).toBe(false);
});
