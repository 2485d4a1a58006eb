import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ask, type LfsGround, lfsType, openLfsGround, type RawReply, repositoryUrl } from '../../support/lfs-ground.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterEach(() => ground.upstream.forget());
afterAll(() => ground.stop());

function post(path: string, body: string): Promise<RawReply> {
  return ask(ground, `${repositoryUrl}/info/lfs/${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': lfsType },
  });
}

describe('locks are taken and given back, not broken', () => {
  test('an unlock by force is refused, with or without a ref', async () => {
    const own = { ref: { name: 'refs/heads/work' } };
    for (const body of [{ force: true }, { force: true, ...own }]) {
      const reply = await post('locks/lock-1/unlock', JSON.stringify(body));
      expect([reply.status, reply.code]).toEqual([403, 'lfs.not-allowed']);
    }
    expect(ground.upstream.asked).toEqual([]);
  });

  test('nor is force hidden behind a second key', async () => {
    await post('locks', '{"path":"a.bin"}');
    await post('locks/lock-1/unlock', '{"force":true,"force":false}');
    const [, unlock] = ground.upstream.asked;
    expect(unlock!.body).toBe('{"force":false}');
    const reply = await post('locks/lock-1/unlock', '{"force":"true"}');
    expect([reply.status, reply.code]).toEqual([400, 'lfs.malformed']);
  });

  test('a protected branch is locked and unlocked by people', async () => {
    const ref = { name: 'refs/heads/main' };
    const lock = await post('locks', JSON.stringify({ path: 'a.bin', ref }));
    const unlock = await post('locks/lock-1/unlock', JSON.stringify({ ref }));
    expect([lock.code, unlock.code]).toEqual(['lfs.not-allowed', 'lfs.not-allowed']);
    expect(ground.upstream.asked).toEqual([]);
    const verify = await post('locks/verify', JSON.stringify({ ref, limit: 5, cursor: null, more: 1 }));
    expect(verify.status).toBe(200);
    expect(ground.upstream.asked[0]!.body).toBe('{"limit":5,"ref":{"name":"refs/heads/main"}}');
  });

  test('a large body is not taken in', async () => {
    const reply = await post('locks', JSON.stringify({ path: 'a'.repeat(70_000) }));
    expect([reply.status, reply.code]).toEqual([413, 'limit.body-size']);
  });
});
