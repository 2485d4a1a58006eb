import { afterEach, describe, expect, test } from 'vitest';
import { askBatch, freshObject, type LfsGround, openLfsGround } from '../../support/lfs-ground.ts';

let ground: LfsGround;

afterEach(() => ground.stop());

async function expectNoUpload(ref: string | null): Promise<void> {
  const reply = await askBatch(ground, 'upload', [freshObject()], ref === null ? {} : { ref: { name: ref } });
  expect([ref, reply.status, reply.code]).toEqual([ref, 403, 'lfs.not-allowed']);
  expect(reply.headers['content-type']).toBe('application/vnd.git-lfs+json');
  // What git-lfs shows, and beside it what every refusal says.
  const told = JSON.parse(reply.body.toString()) as Record<string, string>;
  expect(told.message).toContain('may not upload LFS objects');
  expect(told).toMatchObject({ code: 'lfs.not-allowed', request_id: expect.any(String) });
  expect(ground.upstream.asked).toEqual([]);
}

describe('objects come only with a push that would pass', () => {
  test('a person uploads nothing for a protected branch, and for any other', async () => {
    ground = await openLfsGround();
    for (const ref of ['refs/heads/main', 'refs/heads/MAIN', 'refs/heads/master']) await expectNoUpload(ref);
    for (const ref of ['main', 'HEAD', 'refs/pull/1/head', 'refs/heads/', 'refs/heads/a..b']) await expectNoUpload(ref);
    for (const ref of ['refs/heads/work', 'refs/tags/v1']) {
      expect((await askBatch(ground, 'upload', [freshObject()], { ref: { name: ref } })).status).toBe(200);
    }
    expect((await askBatch(ground, 'upload', [freshObject()])).status).toBe(200);
  });

  test('a bot uploads for its own branches alone', async () => {
    ground = await openLfsGround({ registration: { auth_mode: 'bot', allowed_branches: ['sandbox/*'] } });
    for (const ref of ['refs/heads/main', 'refs/heads/work', 'refs/heads/sandbox/a/b', 'refs/tags/v1']) {
      await expectNoUpload(ref);
    }
    for (const over of [{ ref: { name: 'refs/heads/sandbox/x' } }, {}]) {
      expect((await askBatch(ground, 'upload', [freshObject()], over)).status).toBe(200);
    }
  });

  test('a bot without branches uploads nothing at all, and still reads', async () => {
    ground = await openLfsGround({ registration: { auth_mode: 'bot', allowed_branches: [] } });
    await expectNoUpload(null);
    await expectNoUpload('refs/heads/sandbox/x');
    expect((await askBatch(ground, 'download', [freshObject()])).status).toBe(200);
  });
});
