import { expect, test } from 'vitest';
import { isMountPoint, readOnlyBindOptions } from '../../../../src/sandbox/files/mount-options.ts';

const mountInfo = [
  '20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  '21 20 0:5 / /dev rw,nosuid shared:2 - devtmpfs udev rw',
  '22 20 0:6 / /tmp rw,nosuid,nodev shared:3 - tmpfs tmpfs rw',
  '23 20 0:7 / /mnt/my\\040disk rw,nosuid,nodev,noexec,noatime - ext4 /dev/sdb1 rw',
  '24 22 0:8 / /tmp rw - tmpfs tmpfs rw',
  '',
].join('\n');

test('a bind keeps what is locked on the mount a path lies on', () => {
  expect(readOnlyBindOptions('/etc/hosts', mountInfo)).toBe('remount,bind,ro');
  expect(readOnlyBindOptions('/dev/null', mountInfo)).toBe('remount,bind,ro,nosuid');
  expect(readOnlyBindOptions('/devices', mountInfo)).toBe('remount,bind,ro');
  expect(readOnlyBindOptions('/mnt/my disk/x', mountInfo)).toBe('remount,bind,ro,nosuid,nodev,noexec');
});

test('of two mounts at one place the one on top counts', () => {
  expect(readOnlyBindOptions('/tmp/x', mountInfo)).toBe('remount,bind,ro');
});

test('a mount point is told from a folder in one', () => {
  expect([isMountPoint('/dev', mountInfo), isMountPoint('/dev/shm', mountInfo)]).toEqual([true, false]);
});
