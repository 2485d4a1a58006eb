import { describe, expect, test } from 'vitest';
import { plainUnshareEnvironment, plainUnshareScript } from '../../../../src/sandbox/namespace/plain-unshare-script.ts';
import type { Mount } from '../../../../src/sandbox/run/sandbox-plan.ts';

const tools = {
  sh: 'sh',
  env: 'env',
  cat: 'cat',
  mount: 'mount',
  umount: 'umount',
  unshare: 'unshare',
  setpriv: 'setpriv',
};
const scriptFor = (mounts: readonly Mount[], filterLoader: readonly string[] | null = ['loader']): readonly string[] =>
  plainUnshareScript(
    { id: 'x', command: ['program', 'a b'], workingDirectory: '/work', environment: { KEY: 'value' }, mounts },
    { uid: 7, gid: 8 },
    { ...tools, filterLoader },
    (path) => `options-of-${path}`,
  )
    .replaceAll("'", '')
    .split('\n');

describe('the script of plain unshare', () => {
  test('takes sources from the stash, which is gone before the command starts', () => {
    const lines = scriptFor([
      { kind: 'read-only', source: '/a', target: '/b' },
      { kind: 'masked-file', target: '/c' },
      { kind: 'masked-folder', target: '/d' },
    ]);
    expect(lines.slice(0, 9)).toEqual([
      'mount --rbind / /sys',
      'mount --rbind /sys/a /b',
      'mount -o options-of-/a /b',
      'mount --bind /sys/dev/null /c',
      'mount -o options-of-/dev/null /c',
      'mount -t tmpfs -o ro,nosuid,nodev,noexec,mode=0755 tmpfs /d',
      'mount -t proc -o nosuid,nodev,noexec proc /proc',
      'umount -l /sys',
      'mount -t tmpfs -o ro,nosuid,nodev,noexec tmpfs /sys',
    ]);
  });

  test('gives up its rights before it starts the command, which is filtered and has a user namespace of its own', () => {
    const line = scriptFor([]).find((each) => each.startsWith('exec ')) ?? '';
    const order = ['setpriv --no-new-privs --bounding-set=-all', 'unshare --user --map-user=7 --map-group=8', 'loader'];
    const places = order.map((words) => line.indexOf(words));
    expect(places.every((place, i) => place > (places[i - 1] ?? 0))).toBe(true);
  });

  test('no value of the environment stands in the list of processes', () => {
    expect(scriptFor([]).join()).not.toContain('value');
    const plan = { id: 'x', command: [], workingDirectory: '/', environment: { KEY: "it's" }, mounts: [] };
    expect(plainUnshareEnvironment(plan, '/usr/bin/env').toString()).toBe(
      `set -- '/usr/bin/env' '-i' 'KEY=it'\\''s' "$@"\n`,
    );
  });

  test('a link is an error: it would be made in the files of the host', () => {
    expect(() => scriptFor([{ kind: 'link', target: '/bin', to: 'usr/bin' }])).toThrow(/cannot make the link/);
  });
});
