// Docker before 25 makes the top of a read-only mount read-only and leaves a file system that is mounted inside it writable.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DockerAttackGround, startDockerAttackGround } from './docker-attack-ground.ts';

let ground: DockerAttackGround;
const given = mkdtempSync(join(tmpdir(), 'sallyport-given-'));
const inner = join(given, 'an inner, "odd" one');

beforeAll(async () => {
  mkdirSync(inner);
  execFileSync('mount', ['-t', 'tmpfs', 'none', inner]);
  for (const folder of [given, inner]) writeFileSync(join(folder, 'file'), '');
  // After the mount, which is then among the daemon's own.
  ground = await startDockerAttackGround();
});

afterAll(async () => {
  await ground?.dockerd.stop();
  execFileSync('umount', [inner]);
  rmSync(given, { recursive: true });
});

test('what is mounted inside a read-only folder is read-only too', async () => {
  const attempts = ['/in/file', '/in/an inner, "odd" one/file'].flatMap((path) => [`read:${path}`, `write:${path}`]);
  const kinds = ['read-only', 'read-write'] as const;
  const [closed, open] = await Promise.all(
    kinds.map((kind) => ground.attack(attempts, { mounts: [{ kind, source: given, target: '/in' }] })),
  );
  expect(Object.values(closed!)).toEqual(['OK', 'EROFS', 'OK', 'EROFS']);
  expect(Object.values(open!)).toEqual(['OK', 'OK', 'OK', 'OK']);
});
