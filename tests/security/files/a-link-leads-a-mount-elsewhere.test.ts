// A sandbox leaves a link where the next one mounts something, or a pointer where the next one follows it: the launcher, which
// works outside, must not be led anywhere by it.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseMount } from '../../../src/sandbox/files/user-mounts.ts';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

let ground: MountGround;
beforeEach(() => {
  ground = makeMountGround();
});
afterEach(() => ground.remove());

test('a link in a home that persists, on the way to a folder of programs', () => {
  const persisted = ground.folder('persisted');
  ground.file('home/dev/.cargo/bin/tool', '', 0o755);
  const tools = { homeFolder: persisted, environment: { PATH: `${ground.home}/.cargo/bin` } };
  expect(ground.plan(tools).path).toEqual([`${ground.home}/.cargo/bin`]);
  symlinkSync('/etc', `${persisted}/.cargo`);
  expect(() => ground.plan(tools)).toThrow(/is a link/);
});

test('a link in the working directory, on the way to a target in it', () => {
  const data = ground.folder('data');
  const asked = [parseMount(`${data}:${ground.project}/data/in`, 'read-only', { cwd: '/', home: ground.home })];
  expect(() => ground.plan({ asked })).not.toThrow();
  symlinkSync(ground.home, `${ground.project}/data`);
  expect(() => ground.plan({ asked })).toThrow(/is a link/);
});

test('a link in place of what the user names is judged by where it leads, and that is what is mounted', () => {
  const link = ground.link(`${ground.project}/harmless`, ground.folder('first'));
  const asked = [parseMount(`${link}:/mnt/it`, 'read-write', { cwd: '/', home: ground.home })];
  const { mounts } = ground.plan({ asked });
  expect(mounts).toContainEqual({ kind: 'read-write', source: `${ground.top}/first`, target: '/mnt/it' });
});

test('a pointer to the repository of somebody else', () => {
  const other = ground.folder('home/dev/private/.git');
  for (const name of ['objects', 'refs', 'worktrees/x']) mkdirSync(`${other}/${name}`, { recursive: true });
  writeFileSync(`${other}/HEAD`, 'ref: refs/heads/main\n');
  writeFileSync(`${other}/worktrees/x/commondir`, '../..\n');
  writeFileSync(`${other}/worktrees/x/gitdir`, `${ground.home}/elsewhere/.git\n`);
  for (const pointer of [other, `${other}/worktrees/x`]) {
    writeFileSync(`${ground.project}/.git`, `gitdir: ${pointer}\n`);
    const sources = ground.plan().mounts.flatMap((mount) => ('source' in mount ? [mount.source] : []));
    expect(sources.filter((source) => source.startsWith(`${ground.home}/private`))).toEqual([]);
  }
});
