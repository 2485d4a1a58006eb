import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { holdFolderOf, identityAt } from '../../../../src/sandbox/files/path-handle.ts';
import { sealMounts } from '../../../../src/sandbox/files/seal-mounts.ts';
import type { Mount } from '../../../../src/sandbox/run/sandbox-plan.ts';
import { makeRunFolder } from '../../../../src/sandbox/stubs/run-folder.ts';

let top: string;
const at = (path: string) => join(top, path);

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-seals-')));
  mkdirSync(at('project/sub'), { recursive: true });
  writeFileSync(at('project/sub/file'), '');
  symlinkSync('project', at('link'));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const identity = (path: string): string => {
  const { dev, ino } = statSync(at(path), { bigint: true });
  return `${dev}:${ino}`;
};
const bind = (source: string, target: string): Mount => ({ kind: 'read-write', source: at(source), target });

describe('what a mount was when it was judged', () => {
  test('a source is one thing, and nothing when a link leads to it or it is not there', () => {
    const seals = sealMounts(
      [bind('project', '/a'), bind('link', '/b'), bind('link/sub', '/c'), bind('none', '/d')],
      'fresh',
    );
    expect(seals.map(({ source }) => source)).toEqual([identity('project'), null, null, null]);
  });

  test('the folder around a target is the one of the host, one that is made, or one that nobody has written', () => {
    const mounts: Mount[] = [
      bind('project', '/work'),
      { kind: 'masked-file', target: '/work/sub/file' },
      { kind: 'masked-folder', target: '/work/new/folder' },
      { kind: 'empty', target: '/tmp' },
      { kind: 'masked-file', target: '/tmp/x/file' },
    ];
    expect(sealMounts(mounts, 'fresh').map(({ around }) => around)).toEqual([
      { is: 'fresh' },
      { is: 'known', identity: identity('project/sub') },
      { is: 'made' },
      { is: 'fresh' },
      { is: 'fresh' },
    ]);
  });

  test('a link in the folder around a target is never right where sandboxes write, and followed in the system', () => {
    const mask: Mount = { kind: 'masked-file', target: at('link/sub/file') };
    const [, inside] = sealMounts([{ ...bind('.', top), source: top } as Mount, mask], 'fresh');
    expect(inside?.around).toEqual({ is: 'known', identity: null });
    expect(sealMounts([mask], 'host')[0]?.around).toEqual({ is: 'known', identity: identity('project/sub') });
  });

  test('what is covered is not looked for, and what was noted before stays', () => {
    const first = sealMounts([bind('project', '/a')], 'fresh');
    rmSync(at('project'), { recursive: true });
    mkdirSync(at('project'));
    const later = sealMounts(
      [bind('project', '/a'), bind('project', '/b/c'), { kind: 'empty', target: '/b' }],
      'fresh',
      first,
    );
    expect(later.map(({ mount }) => mount.target)).toEqual(['/a', '/b']);
    expect(later[0]).toEqual(first[0]);
  });
});

test('what is made for a sandbox has its real path also when its parent is behind a link', async () => {
  mkdirSync(at('state/x'), { recursive: true, mode: 0o700 });
  symlinkSync('state', at('home'));
  const folder = makeRunFolder(at('home/x/sandboxes'), 'x');
  expect(identityAt(folder.files)).not.toBeNull();
  expect(folder.files.startsWith(at('state/x/sandboxes/x.'))).toBe(true);
  await folder.remove();
});

test('a folder of a process is found in its own root, by links too', () => {
  const found = (path: string) => {
    const held = holdFolderOf(process.pid, path);
    held?.close();
    return held?.identity ?? null;
  };
  symlinkSync(at('link'), at('absolute'));
  symlinkSync('loop', at('loop'));
  expect(found(at('project/sub'))).toBe(identity('project/sub'));
  expect(found(at('absolute/sub'))).toBe(identity('project/sub'));
  expect(found(at('project/sub/../../link'))).toBe(identity('project'));
  expect([found(at('loop')), found(at('none')), found(at('project/none/sub'))]).toEqual([null, null, null]);
  expect(found('/')).not.toBeNull();
});
