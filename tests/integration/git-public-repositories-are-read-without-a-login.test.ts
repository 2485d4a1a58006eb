import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround } from '../support/push-ground.ts';

let open: PushGround;
let closed: PushGround;
const url = 'https://github.com/world/public.git';

beforeAll(async () => {
  open = await openPushGround({ config: { git: { public_fetch: true } } });
  closed = await openPushGround();
  for (const ground of [open, closed]) {
    const bare = await ground.upstream.create('world/public', { isPublic: true });
    await bare.commit({ branch: 'main', files: { a: 'a\n' } });
    const secret = await ground.upstream.create('world/secret');
    await secret.commit({ branch: 'main', files: { a: 'a\n' } });
  }
});

afterAll(async () => {
  await open.stop();
  await closed.stop();
});

describe('where the operator allows it, anybody’s public repository is fetched', () => {
  test('and the token stays at home', async () => {
    open.upstream.forget();
    const clone = await open.sandbox.clone(url);
    expect(await clone.git('show', 'HEAD:a')).toBe('a');
    expect(open.upstream.requests.map(({ login }) => login)).toEqual([null, null, null]);
    expect(await open.lastRecord('/git-upload-pack')).toMatchObject({ verdict: 'allowed', credential: null });
  });

  test('a login that the sandbox brings stays at home as well', async () => {
    open.upstream.forget();
    const run = await open.sandbox.home.run(['ls-remote', url.replace('://', '://me:token@')]);
    expect(run.code).toBe(0);
    expect(new Set(open.upstream.requests.map(({ login }) => login))).toEqual(new Set([null]));
  });

  test('a private one is not: nobody is asked with the token', async () => {
    open.upstream.forget();
    const run = await open.sandbox.home.run(['ls-remote', 'https://github.com/world/secret.git']);
    expect(run.code).toBe(128);
    expect(new Set(open.upstream.requests.map(({ login }) => login))).toEqual(new Set([null]));
    expect(run.stderr).toContain(
      'remote: github.com asks for a login, and this request has none: world/secret is not public',
    );
  });

  test('nothing is pushed there', async () => {
    const clone = await open.sandbox.clone(url);
    await clone.commit({ branch: 'feature', parents: ['main'], files: { f: 'f\n' } });
    open.upstream.forget();
    const run = await clone.run(['push', 'origin', 'feature']);
    expect(run.code).toBe(128);
    expect(run.stderr).toMatch(/^remote: world\/public is not among the repositories of sbx_/m);
    expect(open.upstream.requests).toEqual([]);
    expect(await open.lastRecord('/info/refs')).toMatchObject({ verdict: 'refused', code: 'repo.not-allowed' });
  });

  test('a repository of the sandbox is still reached with the token', async () => {
    const repository = await open.repository();
    open.upstream.forget();
    await open.sandbox.clone(repository.url);
    expect(new Set(open.upstream.requests.map(({ login }) => login))).toEqual(new Set([true]));
  });
});

describe('where the operator does not', () => {
  test('it is refused like any other', async () => {
    closed.upstream.forget();
    const run = await closed.sandbox.home.run(['ls-remote', url]);
    expect(run.code).toBe(128);
    expect(run.stderr).toMatch(/^remote: world\/public is not among the repositories of sbx_/m);
    expect(closed.upstream.requests).toEqual([]);
  });
});
