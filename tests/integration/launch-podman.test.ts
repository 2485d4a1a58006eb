// Containers without a daemon: Podman's own command line, for an ordinary user. Docker's launcher, with other words in a few
// places: the walls must be the same.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dockerCommands } from '../support/dockerd.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeRunGround, type RunGround } from '../support/run-ground.ts';
import { makeDockerDriver } from './launch-docker-driver.ts';

const uid = 54321;
let folder: string;
let ground: RunGround;

/** Storage of its own, which needs nothing of the file system below. */
function storageOf(name: string): string {
  const file = join(folder, `${name}.conf`);
  writeFileSync(
    file,
    `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/${name}/graph"\nrunroot = "${folder}/${name}/run"\nrootless_storage_path = "${folder}/${name}/graph"\n`,
  );
  mkdirSync(join(folder, name));
  return file;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-podman-'));
  chmodSync(folder, 0o755);
  ground = makeRunGround({ allow: [] });
});
afterAll(() => {
  ground?.remove();
  execFileSync('rm', ['-rf', folder]);
});

async function importImage(podman: (...words: string[]) => Promise<ClientRun>): Promise<void> {
  const programs = ['sh', 'cat', 'ls', 'id', 'curl', 'ip', 'touch', 'unshare'];
  await dockerCommands(folder, podman).importImage('tools:1', { programs, copies: { '/bin/sh': '/bin/sh' } });
}

test('an image that is not there is named, with what to do', async () => {
  const args = ['run', '--launcher', 'podman', '--image', 'nowhere:1', '--', 'true'];
  const { code, stderr } = await ground.sallyport('root', args, {
    env: { CONTAINERS_STORAGE_CONF: storageOf('root') },
  });
  expect(code).toBe(125);
  expect(stderr).toMatch(/podman: .*nowhere:1/);
});

test('an ordinary user needs no daemon and no right: what the command writes is theirs', async () => {
  // Podman looks its user up: in a mount namespace of this test alone there is one.
  const conf = storageOf('user');
  const work = join(folder, 'work');
  mkdirSync(work);
  for (const path of [join(folder, 'user'), work]) chownSync(path, uid, uid);
  const names = {
    passwd: `someone:x:${uid}:${uid}::${folder}/user:/bin/sh`,
    group: `someone:x:${uid}:`,
    subuid: 'someone:300000:65536',
    subgid: 'someone:300000:65536',
  };
  const binds = Object.entries(names).map(([name, line]) => {
    const file = join(folder, name);
    const now = readFileSync(`/etc/${name}`, 'utf8');
    writeFileSync(file, `${now}${line}\n`, { mode: 0o644 });
    return `mount --bind ${file} /etc/${name}`;
  });
  const user = `setpriv --reuid=${uid} --regid=${uid} --clear-groups`;
  const asSomeone = (...words: string[]): Promise<ClientRun> =>
    runClient('unshare', ['--mount', 'sh', '-c', `${binds.join('; ')}; exec ${user} "$@"`, 'sh', ...words], {
      env: { HOME: join(folder, 'user'), XDG_RUNTIME_DIR: join(folder, 'user'), CONTAINERS_STORAGE_CONF: conf },
      cwd: '/',
      timeoutMs: 90_000,
    });
  await importImage((...words) => asSomeone('podman', ...words));
  const plan = {
    id: 'one',
    environment: {},
    command: [
      'sh',
      '-c',
      'echo made > made; ip -brief link; ip route add 192.0.2.0/24 dev lo || echo not permitted; cat /proc/self/status',
    ],
    workingDirectory: '/work',
    mounts: [{ kind: 'read-write', source: work, target: '/work' }],
  };
  const { program } = makeDockerDriver(folder);
  const ran = await asSomeone(process.execPath, program, 'tools:1', 'piped', JSON.stringify(plan), 'podman');
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/^lo +UNKNOWN .*\nnot permitted\nName:/);
  for (const line of [/CapEff:\s+0+\n/, /CapBnd:\s+0+\n/, /NoNewPrivs:\s+1\n/, /Seccomp:\s+2\n/])
    expect(ran.stdout).toMatch(line);
  expect((await asSomeone('podman', 'ps', '--all', '--quiet')).stdout).toBe('');
  expect(statSync(join(work, 'made')).uid).toBe(uid);
  rmSync(work, { recursive: true });
});
