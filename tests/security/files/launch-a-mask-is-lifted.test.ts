// What is masked lies under a mount. A sandbox may make namespaces of its own, in which it may mount and unmount; what it
// inherited must stay as it is, and with it what lies below.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Mount } from '../../../src/sandbox/run/sandbox-plan.ts';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../../support/launch-ground.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
  ground.write('secret', 'a key in a file');
  ground.write('hidden/key', 'a key in a folder');
});
afterAll(() => ground.remove());

const attempts = [
  'cat secret hidden/key',
  'umount secret; umount hidden; cat secret hidden/key',
  'unshare -Urm sh -c "umount secret; umount -l hidden; cat secret hidden/key"',
  'unshare -Urm sh -c "mount --bind . /tmp; cat /tmp/secret /tmp/hidden/key"',
  'unshare -Urm sh -c "mount --rbind . /tmp; umount /tmp/secret; umount -l /tmp/hidden; cat /tmp/secret /tmp/hidden/key"',
  'unshare -Urm sh -c "mount --move secret /tmp; cat secret"',
  'mv secret elsewhere; cat elsewhere; mv hidden gone; cat gone/key',
  'ln secret linked; cat linked',
  'cat /proc/1/root$PWD/secret /proc/1/cwd/secret',
  'bwrap --bind / / --dev /dev sh -c "cat secret hidden/key"',
];

describe.each([
  { how: 'bubblewrap of root', order: {} },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid } },
  { how: 'namespaces of root', order: { launcher: 'namespaces' } },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' } },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' } },
] as const)('in $how', ({ order }) => {
  test('no way to lift a mask shows what is below it, and what is read-only stays so', async () => {
    const target = join(ground.folder, 'kept');
    const source = ground.write('kept', 'as it was');
    const mounts: readonly Mount[] = [
      { kind: 'read-only', source, target },
      { kind: 'masked-file', target: join(ground.folder, 'secret') },
      { kind: 'masked-folder', target: join(ground.folder, 'hidden') },
    ];
    const write =
      'unshare -Urm sh -c "mount -o remount,bind,rw kept; echo changed > kept"; echo changed > kept; cat kept';
    const { stdout, told } = await ground.run({
      ...order,
      mounts,
      command: ['sh', '-c', [...attempts, write].join('\n')],
    });
    expect(told.started).toBe(true);
    expect(stdout).toBe('as it was');
  });
});
