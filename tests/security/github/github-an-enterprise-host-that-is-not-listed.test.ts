import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { enterpriseHost, type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

let ground: GithubAttackGround;
const unlisted = 'ghe.unlisted.example';

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

describe('nothing goes to an Enterprise host that is not listed', () => {
  test.each([
    unlisted,
    `api.${unlisted}`,
    'ghe.example.com.unlisted.example',
    'evil-ghe.example.com',
    'github.com.unlisted.example',
  ])('%s', async (host) => {
    for (const target of [
      '/api/v3/repos/acme/widgets',
      '/repos/acme/widgets',
      '/api/graphql',
      '/acme/widgets.git/info/refs',
    ]) {
      await ground.expectRefused({ method: 'GET', host, target }, 'domain.not-allowed');
    }
    expect(ground.api.seen).toEqual([]);
  });

  test('a request for the listed one cannot name another', async () => {
    const call = {
      method: 'GET',
      host: enterpriseHost,
      target: '/api/v3/repos/acme/widgets',
      headers: { Host: unlisted },
    };
    await ground.expectRefused(call, 'mismatch.authority');
  });

  test('on the listed one the API is judged like that of github.com, with its own credential', async () => {
    const host = enterpriseHost;
    await ground.expectPassed({ method: 'GET', host, target: '/api/v3/repos/acme/widgets/issues' });
    await ground.expectPassed({ method: 'POST', host, target: '/api/v3/repos/acme/widgets/issues', body: {} });
    await ground.expectRefused({ method: 'GET', host, target: '/api/v3/repos/acme/secrets' }, 'repo.not-allowed');
    await ground.expectRefused(
      { method: 'PUT', host, target: '/api/v3/repos/acme/widgets/pulls/7/merge', body: {} },
      /^(?:github\.effect|policy\.blocked-api)$/,
    );
    const file = { branch: 'main', message: 'm', content: '' };
    await ground.expectRefused(
      { method: 'PUT', host, target: '/api/v3/repos/acme/widgets/contents/x', body: file },
      'push.protected-branch',
    );
  });
});

describe('uploads go where uploads are allowed, and that is nowhere by default', () => {
  test.each([
    ['uploads.github.com', ''],
    [enterpriseHost, '/api/uploads'],
  ])('%s%s', async (host, prefix) => {
    const target = `${prefix}/repos/acme/widgets/releases/7/assets?name=x`;
    await ground.expectRefused({ method: 'POST', host, target, body: 'bytes' }, 'github.effect');
    const foreign = `${prefix}/repos/acme/secrets/releases/7/assets?name=x`;
    await ground.expectRefused(
      { method: 'POST', host, target: foreign, body: 'bytes' },
      /^(?:github\.effect|repo\.not-allowed)$/,
    );
    const unknown = `${prefix}/repos/acme/widgets/new-uploads`;
    await ground.expectRefused({ method: 'POST', host, target: unknown, body: 'bytes' }, 'repo.operation-not-judged');
  });
});
