// The holder shares its pid namespace with the sandbox. A sandbox that could trace it, write to its pipe or look through its
// root would outlive its launcher or see what was mounted for the holder alone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DockerAttackGround, startDockerAttackGround } from './docker-attack-ground.ts';

let ground: DockerAttackGround;

beforeAll(async () => {
  ground = await startDockerAttackGround();
});

afterAll(async () => {
  await ground?.dockerd.stop();
});

describe('the holder is out of reach', () => {
  // The last one is the user that the holder has otherwise.
  for (const uid of [0, 65534])
    test(`of uid ${uid}`, async () => {
      const denied = {
        'trace-1': 'EPERM',
        'kill-1': 'EPERM',
        'stop-1': 'EPERM',
        'readv-1': 'EPERM',
        'read:/proc/1/root/': 'EACCES',
        'read:/proc/1/cwd/': 'EACCES',
        'read:/proc/1/exe': 'EACCES',
        'read:/proc/1/environ': 'EACCES',
        'read:/proc/1/maps': 'EACCES',
        'read:/proc/1/mem': 'EACCES',
        'read:/proc/1/fd': 'EACCES',
        'write:/proc/1/fd/0': 'EACCES',
      };
      const open = { 'read:/proc/1/cmdline': 'OK', 'read:/proc/self/root/': 'OK', 'read:/proc/self/environ': 'OK' };
      const said = await ground.attack([...Object.keys(open), ...Object.keys(denied)], { user: { uid, gid: uid } });
      expect(said).toEqual({ ...open, ...denied });
    });
});
