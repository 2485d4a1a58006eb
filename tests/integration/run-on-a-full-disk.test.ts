// A new user whose disk is full: every command says that, where it is and what to do, and `run` ends with 125. A real file system
// of its own, in memory, so that nothing else on the machine notices.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeRunGround, type RunGround, type RunUser, runUsers } from '../support/run-ground.ts';

let ground: RunGround;

beforeAll(() => {
  ground = makeRunGround({ allow: [{ host: 'example.com' }] });
});

afterAll(() => ground.remove());

describe.each(runUsers)('on a full disk, as %s,', (user: RunUser) => {
  let disk: string;
  let state: string;

  beforeAll(() => {
    disk = join(ground.homeOf(user), 'disk');
    state = join(disk, 'state');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=5m,mode=755', 'tmpfs', disk]);
    mkdirSync(join(disk, 'project'));
    execFileSync('chown', ['-R', `--reference=${ground.homeOf(user)}`, disk]);
  });

  afterAll(() => execFileSync('umount', [disk]));

  /** Leaves this much. */
  function fill(leaveBytes: number): void {
    const ballast = join(disk, 'ballast');
    rmSync(ballast, { force: true });
    const { bsize, bavail } = statfsSync(disk);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bsize * bavail - leaveBytes)));
  }

  const sallyport = (...args: string[]) =>
    ground.sallyport(user, args, { env: { SALLYPORT_HOME: state, SALLYPORT_CONFIG: '' }, cwd: join(disk, 'project') });

  test.each([0, 150_000])('with %i bytes left, run ends with 125 and says where there is no room', async (left) => {
    fill(left);
    const { code, stdout, stderr } = await sallyport('run', '--', 'echo', 'begun');
    expect([code, stdout], stderr).toEqual([125, '']);
    expect(stderr).toContain('sallyport: the disk is full: ');
    expect(stderr).toContain(`Make room, and try again. To see where there is none: df -h ${disk}`);
    expect(stderr).not.toMatch(/\bENOSPC\b/);
  });

  test('init says so too, doctor knows, and with room again all is well', async () => {
    fill(0);
    const init = await sallyport('init', '--yes');
    expect(init.code).toBe(1);
    expect(init.stderr).toContain(`the disk is full: ${join(disk, 'project', 'sallyport.yaml')} could not be written`);
    const doctor = await sallyport('doctor', '--outside');
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/fail +disk +0 MiB left\n +fix +free some space/);
    fill(3_000_000);
    expect(await sallyport('run', '--', 'echo', 'begun')).toMatchObject({ code: 0, stdout: 'begun\n' });
  });
});
