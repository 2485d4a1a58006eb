import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { type GitSandbox, openGitSandbox } from '../support/git-sandbox.ts';
import { type LfsGround, lfsToken, openLfsGround, repositoryUrl } from '../support/lfs-ground.ts';
import { storageHost, storageKey, storageSignature } from '../support/lfs-upstream.ts';
import type { ClientRun } from '../support/run-client.ts';

const mebibyte = 1024 ** 2;
/** Everything that git, curl and git-lfs say about what they sent and got. */
const talkative = { GIT_TRACE: '1', GIT_CURL_VERBOSE: '1', GIT_TRACE_CURL: '1', GIT_TRANSFER_TRACE: '1' };

let ground: LfsGround;
let sandbox: GitSandbox;
let bare: GitFolder;

beforeAll(async () => {
  ground = await openLfsGround();
  bare = await ground.upstream.create('acme/art');
  await bare.commit({ branch: 'main', files: { 'README.md': 'art\n', '.gitattributes': '*.bin filter=lfs -text\n' } });
  sandbox = openGitSandbox(ground.gateway);
  await sandbox.home.git('lfs', 'install', '--skip-repo');
});

afterAll(async () => {
  await ground.stop();
  sandbox.remove();
});

function expectNothingOfTheStorage({ stdout, stderr }: ClientRun): void {
  const secrets = [
    storageKey,
    storageSignature,
    storageHost,
    lfsToken,
    Buffer.from(`x-access-token:${lfsToken}`).toString('base64'),
  ];
  for (const secret of secrets) expect(`${stdout}${stderr}`).not.toContain(secret);
}

/** A clone on a branch of its own, with the hooks of git-lfs. */
async function cloneOn(branch: string): Promise<GitFolder> {
  const clone = await sandbox.clone(repositoryUrl);
  await clone.git('lfs', 'install', '--local');
  await clone.git('checkout', '--quiet', '-b', branch);
  return clone;
}

async function commitFiles(clone: GitFolder, files: Record<string, Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(clone.folder, path)), { recursive: true });
    writeFileSync(join(clone.folder, path), content);
  }
  await clone.git('add', '.');
  await clone.git('commit', '--quiet', '-m', 'more');
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

describe('files of LFS go through the door with the real git-lfs, and their storage stays unknown', () => {
  const small = randomBytes(200_000);
  const large = randomBytes(50 * mebibyte);

  test('a push brings two objects, one of 50 MiB, and has them verified', async () => {
    const clone = await cloneOn('work');
    await commitFiles(clone, { 'small.bin': small, 'deep/large.bin': large });
    const run = await clone.run(['push', 'origin', 'work'], '', talkative);
    expect(run.stderr).toContain('[new branch]');
    expect(run.code).toBe(0);
    expect([...ground.upstream.objects.keys()].sort()).toEqual([sha256(small), sha256(large)].sort());
    expect(ground.upstream.objects.get(sha256(large))!.equals(large)).toBe(true);
    const verified = ground.upstream.stored.filter(({ method }) => method === 'POST');
    expect(verified).toHaveLength(2);
    // git-lfs tells what it was answered: the trace must show that it was talking to the door.
    expect(run.stderr).toContain('/info/lfs/door/');
    expectNothingOfTheStorage(run);
  });

  test('a clone has them again', async () => {
    ground.upstream.forget();
    const run = await sandbox.home.run(['clone', '--branch', 'work', repositoryUrl, 'again'], '', talkative);
    expect(run.code).toBe(0);
    const again = sandbox.home.below('again');
    expect(readFileSync(join(again.folder, 'deep/large.bin')).equals(large)).toBe(true);
    expect(readFileSync(join(again.folder, 'small.bin')).equals(small)).toBe(true);
    expect(ground.upstream.stored.map(({ method }) => method)).toEqual(['GET', 'GET']);
    expect(run.stderr).toContain('/info/lfs/door/');
    expectNothingOfTheStorage(run);
  });

  test('a pull brings what was added since', async () => {
    const reader = await sandbox.clone(repositoryUrl);
    const writer = await cloneOn('more');
    const added = randomBytes(30_000);
    await commitFiles(writer, { 'added.bin': added });
    await writer.git('push', '--quiet', 'origin', 'more');
    await reader.git('pull', '--quiet', 'origin', 'more');
    expect(readFileSync(join(reader.folder, 'added.bin')).equals(added)).toBe(true);
  });

  test('a download that broke off is taken up where it ended', async () => {
    const oid = sha256(large);
    const clone = sandbox.home.below('resumed');
    const quiet = { GIT_LFS_SKIP_SMUDGE: '1' };
    await sandbox.home.run(['clone', '--quiet', '--branch', 'work', repositoryUrl, 'resumed'], '', quiet);
    const incomplete = join(clone.folder, '.git/lfs/incomplete');
    mkdirSync(incomplete, { recursive: true });
    writeFileSync(join(incomplete, `${oid}.part`), large);
    truncateSync(join(incomplete, `${oid}.part`), 20 * mebibyte);
    ground.upstream.forget();
    const run = await clone.run(['lfs', 'pull', '--include', 'deep/large.bin'], '', talkative);
    expect(run.code).toBe(0);
    expect(ground.upstream.stored.map(({ headers }) => headers.range)).toEqual([
      `bytes=${20 * mebibyte}-${large.length - 1}`,
    ]);
    expect(readFileSync(join(clone.folder, 'deep/large.bin')).equals(large)).toBe(true);
    expectNothingOfTheStorage(run);
  });

  test('the journal tells what was asked for, and nothing of the storage', async () => {
    const records = (await ground.gateway.journal()).filter(({ path }) => String(path).includes('/info/lfs/'));
    const told = records.map(({ git }) => git);
    expect(told).toContain('lfs-batch acme/art upload 2 objects');
    expect(told).toContain(`lfs-object acme/art upload ${sha256(large)} (${large.length} bytes)`);
    expect(told).toContain(`lfs-object acme/art download ${sha256(small)} (${small.length} bytes)`);
    const text = JSON.stringify(records);
    for (const secret of [storageKey, storageSignature, storageHost, lfsToken]) expect(text).not.toContain(secret);
  });
});
