import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { type GitSandbox, openGitSandbox } from '../support/git-sandbox.ts';
import { type LfsGround, openLfsGround, repositoryUrl } from '../support/lfs-ground.ts';

let ground: LfsGround;
let sandbox: GitSandbox;
let clone: GitFolder;

beforeAll(async () => {
  ground = await openLfsGround({ registration: { auth_mode: 'bot', allowed_branches: ['sandbox/*'] } });
  const bare = await ground.upstream.create('acme/art');
  await bare.commit({ branch: 'main', files: { '.gitattributes': '*.bin filter=lfs -text lockable\n' } });
  sandbox = openGitSandbox(ground.gateway);
  clone = await sandbox.clone(repositoryUrl);
  await clone.git('lfs', 'install', '--local');
});

afterAll(async () => {
  await ground.stop();
  sandbox.remove();
});

describe('files are locked and unlocked with the real git-lfs', () => {
  test('on a branch of its own: locked, listed, given back', async () => {
    await clone.git('checkout', '--quiet', '-b', 'sandbox/art');
    writeFileSync(join(clone.folder, 'picture.bin'), 'a picture');
    await clone.git('add', '.');
    await clone.git('commit', '--quiet', '-m', 'a picture');
    expect(await clone.git('lfs', 'lock', 'picture.bin')).toContain('Locked picture.bin');
    expect(ground.upstream.lfs.locks).toMatchObject([{ path: 'picture.bin' }]);
    expect(await clone.git('lfs', 'locks')).toContain('picture.bin');
    expect(await clone.git('lfs', 'locks', '--verify')).toContain('picture.bin');
    expect(await clone.git('lfs', 'unlock', 'picture.bin')).toContain('Unlocked picture.bin');
    expect(ground.upstream.lfs.locks).toEqual([]);
  });

  test('not on a protected branch, and git-lfs says why', async () => {
    await clone.git('checkout', '--quiet', '--force', 'main');
    ground.upstream.forget();
    const run = await clone.run(['lfs', 'lock', 'picture.bin']);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toContain('may not lock a file for refs/heads/main, which is protected');
    expect(ground.upstream.asked.filter(({ url }) => url.endsWith('/locks'))).toEqual([]);
  });

  test('a push to a protected branch stops at its objects, with the reason', async () => {
    writeFileSync(join(clone.folder, 'new.bin'), 'content');
    await clone.git('add', '.');
    await clone.git('commit', '--quiet', '-m', 'new');
    ground.upstream.forget();
    ground.upstream.objects.clear();
    const run = await clone.run(['push', 'origin', 'main']);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toContain('may not upload LFS objects for refs/heads/main, which is protected');
    expect(ground.upstream.asked.filter(({ url }) => url.endsWith('/batch'))).toEqual([]);
    const pushed = await clone.run(['push', 'origin', 'main:sandbox/new']);
    expect(pushed.stderr).toContain('[new branch]');
    expect(ground.upstream.objects.size).toBe(1);
  });
});
