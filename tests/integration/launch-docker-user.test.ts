// An ordinary user and Docker: with a rootless daemon of their own everything works, and what the command writes belongs to
// them; with the daemon of the machine they are told why it does not.
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxPlan } from '../../src/launch/sandbox-plan.ts';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeDockerDriver } from './launch-docker-driver.ts';

const uid = 54321;
let rootless: TestDockerd;
let rootful: TestDockerd;

beforeAll(async () => {
  [rootless, rootful] = await Promise.all([startDockerd({ rootless: uid }), startDockerd()]);
  for (const dockerd of [rootless, rootful])
    await dockerd.importImage('tools:1', { programs: ['sh', 'cat', 'ls', 'ip'] });
  // As for a member of the group that may use the daemon.
  chmodSync(join(rootful.folder, 'docker.sock'), 0o666);
});

afterAll(async () => {
  await Promise.allSettled([rootless?.stop(), rootful?.stop()]);
});

/** The launcher as this user. */
function drive(dockerd: TestDockerd, plan: Partial<SandboxPlan>): Promise<ClientRun> {
  const { program } = makeDockerDriver(dockerd.folder);
  const whole = { id: 'one', command: ['sh'], workingDirectory: '/', environment: {}, mounts: [], ...plan };
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const home = join(dockerd.folder, 'home-of-user');
  mkdirSync(home);
  chownSync(home, uid, uid);
  return runClient('setpriv', [...user, process.execPath, program, 'tools:1', 'piped', JSON.stringify(whole)], {
    env: { ...dockerd.environment, HOME: home, TMPDIR: home },
    cwd: '/',
  });
}

test('a rootless daemon serves its user', async () => {
  const work = join(rootless.folder, 'work');
  mkdirSync(join(work, '.aws'), { recursive: true });
  for (const name of ['.aws/credentials', '.netrc']) writeFileSync(join(work, name), 'a secret');
  chownSync(work, uid, uid);
  const script = `echo made > made; cat .netrc; ls -A . .aws; ip -brief link; ip route show table local default
    ip route add 192.0.2.0/24 dev lo || echo not permitted`;
  const ran = await drive(rootless, {
    command: ['sh', '-c', script],
    workingDirectory: '/work',
    mounts: [
      { kind: 'read-write', source: work, target: '/work' },
      { kind: 'masked-folder', target: '/work/.aws' },
      { kind: 'masked-file', target: '/work/.netrc' },
    ],
  });
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(
    /^\.:\n\.aws\n\.netrc\nmade\n\n\.aws:\nlo +UNKNOWN .*\nlocal default dev lo scope host \nnot permitted\n$/,
  );
  expect(statSync(join(work, 'made')).uid).toBe(uid);
  expect(await rootless.containers()).toEqual([]);
});

test("the machine's own daemon cannot, and the user is told what can", async () => {
  const ran = await drive(rootful, {});
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain('this user may use the Docker daemon but not enter the network of its containers');
  expect(ran.stderr).toContain('run with sudo, use rootless Docker, or leave --image out to use bubblewrap');
  expect(await rootful.containers()).toEqual([]);
  expect(readdirSync(join(rootful.folder, 'home-of-user'))).toEqual([]);
});
