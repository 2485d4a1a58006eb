import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  actionsOf,
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  lfsType,
  openLfsGround,
  otherGitHost,
  storedObject,
} from '../../support/lfs-ground.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterEach(() => ground.upstream.forget());
afterAll(() => ground.stop());

describe('an address of an object is good for one thing', () => {
  test('one for a download neither uploads nor confirms', async () => {
    const object = await storedObject(ground);
    const put = await ask(ground, object.href, { method: 'PUT', body: object.content });
    const post = await ask(ground, object.href, { method: 'POST', body: '{}', headers: { 'content-type': lfsType } });
    expect([put.code, post.code]).toEqual(['lfs.ticket', 'lfs.ticket']);
    expect(ground.upstream.stored).toEqual([]);
  });

  test('one for an upload gives nothing out', async () => {
    const object = freshObject();
    const { upload, verify } = actionsOf(await askBatch(ground, 'upload', [object]));
    const replies = [await ask(ground, upload!.href), await ask(ground, verify!.href)];
    expect(replies.map(({ code }) => code)).toEqual(['lfs.ticket', 'lfs.ticket']);
    const put = await ask(ground, verify!.href, { method: 'PUT', body: object.content });
    expect(put.code).toBe('lfs.ticket');
    expect(ground.upstream.stored).toEqual([]);
  });

  test.each([
    ['another repository of the same sandbox', 'https://github.com/acme/other.git'],
    ['another git host', `https://${otherGitHost}/acme/art.git`],
  ])('not under %s', async (_, place) => {
    const object = await storedObject(ground);
    const reply = await ask(ground, object.href.replace('https://github.com/acme/art.git', place));
    expect([reply.status, reply.code]).toEqual([403, 'lfs.ticket']);
    expect(ground.upstream.stored).toEqual([]);
  });

  test('not under a repository that is not its own', async () => {
    const object = await storedObject(ground);
    const reply = await ask(ground, object.href.replace('/acme/', '/others/'));
    expect([reply.status, reply.code]).toEqual([403, 'repo.not-allowed']);
  });

  test('another spelling of its own repository is the same place', async () => {
    const object = await storedObject(ground);
    const reply = await ask(ground, object.href.replace('/acme/art.git', '/Acme/ART'));
    expect(reply.body.equals(object.content)).toBe(true);
  });
});
