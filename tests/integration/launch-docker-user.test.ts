// An ordinary user with a rootless daemon of their own: the launcher works as it does for root, and what the command writes
// belongs to the user.
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { makeDockerDriver } from './launch-docker-driver.ts';

const uid = 54321;
let dockerd: TestDockerd;

beforeAll(async () => {
  dockerd = await startDockerd({ rootless: uid });
  await dockerd.importImage('tools:1', { programs: ['sh', 'cat', 'ls', 'ip'] });
});

afterAll(async () => {
  await dockerd?.stop();
});

test('a rootless daemon serves its user', async () => {
  const work = join(dockerd.folder, 'work');
  mkdirSync(join(work, '.aws'), { recursive: true });
  for (const name of ['.aws/credentials', '.netrc']) writeFileSync(join(work, name), 'a secret');
  chownSync(work, uid, uid);
  const script = `echo made > made; cat .netrc; ls -A . .aws; ip -brief link; ip route show table local default
    ip route add 192.0.2.0/24 dev lo || echo not permitted`;
  const ran = await makeDockerDriver(dockerd.folder).runAs(
    uid,
    'tools:1',
    {
      id: 'one',
      environment: {},
      command: ['sh', '-c', script],
      workingDirectory: '/work',
      mounts: [
        { kind: 'read-write', source: work, target: '/work' },
        { kind: 'masked-folder', target: '/work/.aws' },
        { kind: 'masked-file', target: '/work/.netrc' },
      ],
    },
    dockerd.environment,
  );
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(
    /^\.:\n\.aws\n\.netrc\nmade\n\n\.aws:\nlo +UNKNOWN .*\nlocal default dev lo scope host \nnot permitted\n$/,
  );
  expect(statSync(join(work, 'made')).uid).toBe(uid);
  expect(await dockerd.containers()).toEqual([]);
});
