// A container sandbox has one interface, lo, and may neither make another nor open a socket that needs none: AF_VSOCK
// reaches the hypervisor from any network namespace, and Docker's own profile allowed it for years.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DockerAttackGround, startDockerAttackGround } from './docker-attack-ground.ts';

let ground: DockerAttackGround;

beforeAll(async () => {
  ground = await startDockerAttackGround();
});

afterAll(async () => {
  await ground?.dockerd.stop();
});

describe('no way out of a container but its door', () => {
  for (const user of [
    { uid: 0, gid: 0 },
    { uid: 1000, gid: 1000 },
  ])
    test(`for uid ${user.uid}`, async () => {
      const closed = {
        vsock: 'EAFNOSUPPORT',
        'vsock-high-bits': 'EAFNOSUPPORT',
        packet: 'EAFNOSUPPORT',
        bluetooth: 'EAFNOSUPPORT',
        alg: 'EAFNOSUPPORT',
        raw: 'EPERM',
        io_uring: 'ENOSYS',
        'foreign-architecture': 'ENOSYS',
        route: 'EPERM',
        'unshare-user': 'EPERM',
        'unshare-net': 'EPERM',
        'clone-user': 'EPERM',
        clone3: 'ENOSYS',
        setns: 'EPERM',
      };
      const open = { inet: 'OK', unix: 'OK', netlink: 'OK' };
      const attempts = ['interfaces', ...Object.keys(open), ...Object.keys(closed)];
      expect(await ground.attack(attempts, { user })).toEqual({ interfaces: 'lo ', ...open, ...closed });
    });
});
