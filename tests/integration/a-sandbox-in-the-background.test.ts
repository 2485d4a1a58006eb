// `run --detach`: the sandbox goes on without a terminal; what it printed and how it ended can be asked for later.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeRunGround, type RunGround, runUsers } from '../support/run-ground.ts';

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ allow: [] });
});
afterAll(() => ground.remove());

describe.each(runUsers)('as %s', (user) => {
  const sallyport = (...args: readonly string[]) => ground.sallyport(user, args);

  test('it prints its id, runs on, and tells later what it said and how it ended', async () => {
    const script = 'echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; echo done; exit 7';
    const begun = await sallyport('run', '--detach', '--name', 'back', '--', 'sh', '-c', script);
    expect([begun.code, begun.stderr]).toEqual([0, '']);
    expect(begun.stdout).toMatch(/^sbx_[0-9a-f]{16}\n$/);
    expect((await sallyport('ps')).stdout).toContain('running, in the background');
    await eventually(async () => (await sallyport('logs', '--output', 'back')).stdout === 'begun\n', 'what it printed');
    // The sandbox ends at once, and may take the further command along before it has said its code.
    await sallyport('exec', 'back', '--', 'touch', '/tmp/go');
    await eventually(async () => (await sallyport('ps', '-a')).stdout.includes('ended (7)'), 'its end');
    expect((await sallyport('logs', '--output', begun.stdout.trim())).stdout).toBe('begun\ndone\n');
    const folder = join(ground.stateOf(user), 'running');
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077, name).toBe(0);
  });

  test('one that cannot be started says why, with the code of run', async () => {
    const { code, stdout, stderr } = await sallyport('run', '--detach', '--', 'no-such-program');
    expect([code, stdout]).toEqual([125, '']);
    expect(stderr).toContain('no such program in the sandbox');
  });

  test('stop ends it', async () => {
    const { stdout } = await sallyport('run', '-d', '--', 'sleep', '600');
    expect((await sallyport('stop', '--time', '0', stdout.trim())).code).toBe(0);
    await eventually(async () => (await sallyport('ps', '-a')).stdout.includes('ended (137)'), 'its end');
  });
});
