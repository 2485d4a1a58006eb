// The same swap in front of the Docker daemon, which finds the sources of mounts by name when a container is started: long
// after they were judged, and out of our hands.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDockerLauncher } from '../../../src/sandbox/docker/docker.ts';
import { findTool } from '../../../src/sandbox/namespace/find-tool.ts';
import { startDockerd, type TestDockerd } from '../../support/dockerd.ts';
import { hostSecret, laySwapGround, type MountSwap, mountSwaps, writeSwapper } from '../../support/mount-swaps.ts';

let dockerd: TestDockerd;

beforeAll(async () => {
  dockerd = await startDockerd();
  await dockerd.importImage('tools:1', { programs: ['sh', 'cat'], texts: { '/at/folder/empty': '', '/at/file': '' } });
});
afterAll(async () => {
  await dockerd?.stop();
});

/** The command line is ours: it swaps when it is told to start a container, and tells the daemon then. */
async function run({ mounts, swap, grab }: MountSwap) {
  const folder = mkdtempSync(join(dockerd.folder, 'swap-'));
  const { project, secretIsKept } = laySwapGround(folder);
  const program = findTool('docker')!;
  const docker = writeSwapper(join(folder, 'docker'), { project, swap, program, when: '$ARGV[0] eq "start"' });
  const prepared = await createDockerLauncher({ image: 'tools:1', docker, environment: dockerd.environment }).prepare(
    'piped',
  );
  const running = await prepared
    .start({
      id: 'one',
      command: ['sh', '-c', `${grab(project, '/at')}; echo done`],
      workingDirectory: '/',
      environment: {},
      mounts: mounts(project, '/at'),
    })
    .catch((error: Error & { hint: string }) => error);
  if (running instanceof Error) return { stdout: '', failed: running, secretIsKept };
  running.streams!.stdin.end();
  running.streams!.stderr.resume();
  const [stdout] = await Promise.all([text(running.streams!.stdout), running.ended]);
  return { stdout, failed: null, secretIsKept };
}

test.each(mountSwaps)('$what: no command is started, and nothing of the host is read or written', async (swap) => {
  const { stdout, failed, secretIsKept } = await run(swap);
  expect(stdout).not.toContain(hostSecret);
  expect(stdout).toBe('');
  expect(failed?.message).toMatch(/^what was to be mounted at \/.* changed after it was checked/);
  expect(failed?.hint).toMatch(/another sandbox/);
  expect(secretIsKept()).toBe(true);
  expect(await dockerd.containers()).toEqual([]);
});

test.each(mountSwaps)('$what, when nothing is swapped: the command runs', async (swap) => {
  const { stdout, failed, secretIsKept } = await run({ ...swap, swap: [] });
  expect(failed).toBeNull();
  expect(stdout).toMatch(/done\n$/);
  expect(stdout).not.toContain(hostSecret);
  expect(secretIsKept()).toBe(true);
});
