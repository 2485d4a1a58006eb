import { afterAll, beforeAll, describe, test } from 'vitest';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const pull = '/repos/acme/widgets/pulls/7';
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround({
    replies: { 'GET /repositories/7': { status: 200, body: { full_name: 'acme/widgets' } } },
  });
});

afterAll(() => ground.stop());

describe('a review does not approve', () => {
  test.each([
    'APPROVE',
    'approve',
    'Approve',
    ' APPROVE',
    'APPROVED',
    ['APPROVE'],
    { 0: 'APPROVE' },
    null,
    1,
    true,
    '',
  ])('not with the event %o', async (event) => {
    await ground.expectRefused({ method: 'POST', target: `${pull}/reviews`, body: { event } }, 'github.effect');
    await ground.expectRefused(
      { method: 'POST', target: `${pull}/reviews/7/events`, body: { event } },
      'github.effect',
    );
  });

  test.each(['post', 'Post', 'pOST'])('not when the method is written %s', async (method) => {
    const call = { method, target: `${pull}/reviews`, body: { event: 'APPROVE' } };
    await ground.expectRefused(call, /^malformed\./);
  });

  test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])('not by %s', async (field) => {
    const approval = { event: 'APPROVE' };
    for (const [method, other] of [
      ['GET', 'POST'],
      ['PUT', 'POST'],
      ['POST', 'POST'],
    ] as const) {
      const call = { method, target: `${pull}/reviews`, body: approval, headers: { [field]: other } };
      await ground.expectRefused(call, /^(?:github\.effect|repo\.operation-not-judged)$/);
    }
    const dismissal = { method: 'POST', target: `${pull}/reviews/7/dismissals`, body: {}, headers: { [field]: 'PUT' } };
    await ground.expectRefused(dismissal, /^(?:github\.effect|repo\.operation-not-judged)$/);
  });

  test('nor is a review of somebody dismissed', async () => {
    await ground.expectRefused({ method: 'PUT', target: `${pull}/reviews/7/dismissals`, body: {} }, 'github.effect');
  });

  test('nor under the number of the repository, nor on an Enterprise host', async () => {
    const body = { event: 'APPROVE' };
    const host = 'ghe.example.com';
    await ground.expectRefused({ method: 'POST', host, target: `/api/v3${pull}/reviews`, body }, 'github.effect');
    await ground.expectRefused({ method: 'POST', target: '/repositories/7/pulls/7/reviews', body }, 'github.effect');
  });

  test('a comment is made, so that the above means something', async () => {
    for (const event of ['COMMENT', 'REQUEST_CHANGES', 'PENDING']) {
      await ground.expectPassed({ method: 'POST', target: `${pull}/reviews`, body: { event, body: 'x' } });
      await ground.expectPassed({ method: 'POST', target: `${pull}/reviews/7/events`, body: { event, body: 'x' } });
    }
  });
});
