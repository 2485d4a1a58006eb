// Whoever speaks to the Docker daemon is root on the host: its socket is in no sandbox, whatever the plan mounts.
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Mount } from '../../../src/sandbox/run/sandbox-plan.ts';
import { type DockerAttackGround, startDockerAttackGround } from './docker-attack-ground.ts';

let ground: DockerAttackGround;

beforeAll(async () => {
  ground = await startDockerAttackGround();
});

afterAll(async () => {
  await ground?.dockerd.stop();
});

test('no socket of the daemon is there by itself', async () => {
  const places = ['/var/run/docker.sock', '/run/docker.sock', ground.dockerd.folder].map((path) => `read:${path}`);
  const said = await ground.attack([...places, 'read:/probe']);
  expect(said).toEqual({ ...Object.fromEntries(places.map((place) => [place, 'ENOENT'])), 'read:/probe': 'OK' });
});

test('a mount that is the socket, holds it or leads to it is refused', async () => {
  const { folder } = ground.dockerd;
  const link = join(folder, 'innocent');
  symlinkSync('docker.sock', link);
  const attacks = [join(folder, 'docker.sock'), folder, link].map((source) =>
    expect(
      ground.attack(['read:/in'], { mounts: [{ kind: 'read-only', source, target: '/in' }] }),
    ).rejects.toMatchObject({
      name: 'LaunchError',
      message: expect.stringContaining('docker.sock'),
    }),
  );
  await Promise.all(attacks);
  expect(await ground.dockerd.containers()).toEqual([]);
});

test('a folder that holds it can be mounted when it is masked', async () => {
  const { folder } = ground.dockerd;
  const mounts: Mount[] = [
    { kind: 'read-only', source: folder, target: '/in' },
    { kind: 'masked-file', target: '/in/docker.sock' },
  ];
  expect(await ground.attack(['read:/in/probe.c', 'read:/in/docker.sock'], { mounts })).toEqual({
    'read:/in/probe.c': 'OK',
    // /dev/null: a socket could not be opened like this (ENXIO).
    'read:/in/docker.sock': 'OK',
  });
});
