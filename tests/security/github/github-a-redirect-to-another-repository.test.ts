import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GithubAttackGround, openGithubGround, type ScriptedReply } from './github-attack-ground.ts';

let ground: GithubAttackGround;
const elsewhere = 'https://api.github.com/repositories/99';

beforeAll(async () => {
  const moved = (status: number): ScriptedReply => ({
    status,
    body: { message: 'Moved Permanently', url: elsewhere },
    headers: { location: elsewhere },
  });
  ground = await openGithubGround({
    replies: {
      'GET /repos/acme/widgets': moved(301),
      'GET /repos/acme/widgets/issues': moved(302),
      'POST /repos/acme/widgets/issues': moved(307),
      'PATCH /repos/acme/widgets/issues/7': moved(308),
      'PUT /repos/acme/widgets/contents/x': moved(307),
      'GET /repositories/99': { status: 200, body: { full_name: 'acme/secrets', private: true } },
    },
  });
});

afterAll(() => ground.stop());

describe('a repository that was renamed is followed by nobody', () => {
  test.each([
    ['GET', '/repos/acme/widgets', 301, undefined],
    ['GET', '/repos/acme/widgets/issues', 302, undefined],
    ['POST', '/repos/acme/widgets/issues', 307, { title: 'x' }],
    ['PATCH', '/repos/acme/widgets/issues/7', 308, { title: 'x' }],
    ['PUT', '/repos/acme/widgets/contents/x', 307, { branch: 'sandbox/x', message: 'm', content: '' }],
  ] as const)('%s %s: the %i goes to the client as it is', async (method, target, status, body) => {
    ground.api.seen.length = 0;
    const answer = await ground.call({ method, target, body });
    expect(answer.statuses).toEqual([status]);
    expect(answer.text).toMatch(new RegExp(`^location: ${elsewhere}`, 'im'));
    expect(ground.api.seen.map(({ url }) => url)).toEqual([target]);
  });

  test('a client that follows is judged by where it goes', async () => {
    await ground.expectRefused({ method: 'GET', target: '/repositories/99' }, 'repo.not-allowed');
    await ground.expectRefused({ method: 'POST', target: '/repositories/99/issues', body: {} }, 'repo.not-allowed');
    await ground.expectRefused({ method: 'GET', target: '/repos/acme/secrets' }, 'repo.not-allowed');
  });
});
