// A container sandbox keeps no capability, whoever it runs as, and gets none back from a setuid program of its image.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DockerAttackGround, startDockerAttackGround } from './docker-attack-ground.ts';

let ground: DockerAttackGround;
const none = Array(5).fill('0000000000000000').join(' ');

beforeAll(async () => {
  ground = await startDockerAttackGround();
});

afterAll(async () => {
  await ground?.dockerd.stop();
});

test('root in a container has the name alone', async () => {
  const denied = {
    mount: 'EPERM',
    chroot: 'EPERM',
    keyctl: 'EPERM',
    bpf: 'EPERM',
    'by-handle': 'EPERM',
    setuid: 'EPERM',
    chown: 'EPERM',
    mknod: 'EPERM',
    sysctl: 'EROFS',
  };
  const said = await ground.attack(['capabilities', 'confined', 'euid', ...Object.keys(denied)]);
  expect(said).toEqual({ capabilities: `${none} `, confined: '1 2 ', euid: '0', ...denied });
});

test('a setuid program of the image raises nobody', async () => {
  const user = { uid: 1000, gid: 1000 };
  const said = await ground.attack(['euid', 'capabilities', 'setuid'], { user, program: '/raised' });
  expect(said).toEqual({ euid: '1000', capabilities: `${none} `, setuid: 'EPERM' });
});
