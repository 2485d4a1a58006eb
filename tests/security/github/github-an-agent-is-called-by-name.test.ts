import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultEffects } from '../../../src/path/github-effects.ts';
import { ask, ids } from '../../unit/stages/authorize/github/graphql/graphql-ask.ts';
import { type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const repo = '/repos/acme/widgets';
let ground: GithubAttackGround;

beforeAll(async () => {
  ground = await openGithubGround();
});

afterAll(() => ground.stop());

const calls = [
  '@copilot fix it',
  'please, @Claude.',
  '(@CODEX)',
  'x\n@copilot-swe-agent',
  '&#64;claude go',
  '&commat;codex',
  'hey @cursoragent, and @openhands-agent',
];
const harmless = ['mail ann@claude.example', 'copilot and claude', '@copilots', '@ann', 'x@codex', '@claudette'];

const comment = (body: string) =>
  ask({
    query: 'mutation($i: AddCommentInput!) { addComment(input: $i) { clientMutationId } }',
    variables: { i: { subjectId: ids.issue, body } },
  });

describe('no text calls an agent, which would work with rights of its own', () => {
  test.each(calls)('%j', async (text) => {
    for (const [method, target, body] of [
      ['POST', '/issues', { title: text }],
      ['POST', '/issues', { title: 't', body: text }],
      ['PATCH', '/issues/7', { body: text }],
      ['POST', '/issues/7/comments', { body: text }],
      ['PATCH', '/issues/comments/7', { body: text }],
      ['POST', '/commits/abc/comments', { body: text }],
      ['POST', '/pulls', { title: 't', head: 'sandbox/work', base: 'main', body: text }],
      ['PATCH', '/pulls/7', { title: text }],
      ['POST', '/pulls/7/comments', { body: text }],
      ['POST', '/pulls/7/comments/7/replies', { body: text }],
      ['POST', '/pulls/7/reviews', { event: 'COMMENT', comments: [{ path: 'a', body: text }] }],
      ['PUT', '/pulls/7/reviews/7', { body: text }],
    ] as const) {
      await ground.expectRefused({ method, target: `${repo}${target}`, body }, 'github.effect');
    }
    expect((await comment(text)).said).toMatch(/^github\.effect: .*"agent"/);
  });

  test('nor is one assigned by GraphQL, with a setting of its own', async () => {
    const query = `mutation { createIssue(input: {repositoryId: "${ids.repository}", title: "t", assigneeIds: ["${ids.bot}"]}) { clientMutationId } }`;
    expect((await ask(query)).said).toMatch(/^github\./);
  });

  test.each(harmless)('%j passes', async (text) => {
    await ground.expectPassed({ method: 'POST', target: `${repo}/issues/7/comments`, body: { body: text } });
    await ground.expectPassed({ method: 'PATCH', target: `${repo}/pulls/7`, body: { title: text } });
    expect((await comment(text)).said).toBe('allowed');
  });

  test('allowed by name it passes', async () => {
    const asked = await ask(
      `mutation { addComment(input: {subjectId: "${ids.issue}", body: "@copilot"}) { clientMutationId } }`,
      { effects: [...defaultEffects, 'agent'] },
    );
    expect(asked.said).toBe('allowed');
    expect(asked.verdict).toMatchObject({ effects: ['issue', 'agent'] });
  });
});
