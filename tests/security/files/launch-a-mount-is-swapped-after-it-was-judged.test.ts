// A sandbox that still runs puts a link, or another folder, where the next sandbox is about to mount something: after it was
// judged, before it is mounted. Without a second look the next one had any folder of the host that its user can read.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findTool } from '../../../src/sandbox/namespace/find-tool.ts';
import type { Mount } from '../../../src/sandbox/run/sandbox-plan.ts';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../../support/launch-ground.ts';
import { hostSecret, laySwapGround, type MountSwap, mountSwaps, writeSwapper } from '../../support/mount-swaps.ts';

let ground: LaunchGround;
let files: ReturnType<typeof laySwapGround>;

beforeEach(() => {
  ground = makeLaunchGround();
  files = laySwapGround(ground.folder);
  ground.write('at/folder/empty', '');
  ground.write('at/file', '');
});
afterEach(() => ground.remove());

describe.each([
  { how: 'bubblewrap of root', order: {}, program: 'bwrap' },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid }, program: 'bwrap' },
  { how: 'namespaces of root', order: { launcher: 'namespaces' }, program: 'node' },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' }, program: 'node' },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' }, program: 'mount' },
] as const)('in $how', ({ order, program }) => {
  const run = async ({ mounts, swap, grab }: MountSwap) => {
    const { folder } = ground;
    const { project } = files;
    const at = join(folder, 'at');
    const standIn = writeSwapper(join(folder, 'stand-in'), {
      project,
      swap,
      program: program === 'node' ? process.execPath : findTool(program)!,
    });
    const owner = 'uid' in order ? order.uid : 0;
    execFileSync('chown', ['-R', `${owner}:${owner}`, folder]);
    // What is not asked for is out of sight: in bubblewrap as nothing is there, in plain unshare by a mask.
    const planned: Mount[] =
      program === 'mount'
        ? [...mounts(project, at), { kind: 'masked-folder', target: join(folder, 'private') }]
        : [{ kind: 'empty', target: folder }, ...mounts(project, at)];
    const command = ['sh', '-c', `${grab(project, at)}; echo done`];
    return await ground.run({ ...order, standIn, mounts: planned, command });
  };

  test.each(mountSwaps)('$what: no command is started, and nothing of the host is read or written', async (swap) => {
    const ran = await run(swap);
    expect(ran.stdout).not.toContain(hostSecret);
    expect(ran.stdout).toBe('');
    expect(ran.told).toMatchObject({
      failed: expect.stringMatching(/^what was to be mounted at \/\S+ changed after it was checked/),
    });
    expect(ran.told.hint).toMatch(/another sandbox/);
    expect(files.secretIsKept()).toBe(true);
  });

  test.each(mountSwaps)('$what, when nothing is swapped: the command runs', async (swap) => {
    const ran = await run({ ...swap, swap: [] });
    expect(ran.told).toMatchObject({ started: true });
    expect(ran.stdout).toMatch(/done\n$/);
    expect(ran.stdout).not.toContain(hostSecret);
  });
});

test('what the attacks are after is there to be had where nobody looks', () => {
  execFileSync('sh', ['-c', 'mv open aside && ln -s ../private open'], { cwd: files.project });
  expect(readFileSync(join(files.project, 'open/secret'), 'utf8')).toBe(hostSecret);
});
