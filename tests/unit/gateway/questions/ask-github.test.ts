import { describe, expect, test } from 'vitest';
import { createGithubQuestions } from '../../../../src/gateway/questions/ask-github.ts';
import type { Identified, Permission } from '../../../../src/path/flow.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { answer, scripted } from './scripted-stages.ts';

const { signal } = new AbortController();
const json: [string, string][] = [['Content-Type', 'application/json; charset=utf-8']];

function asking(
  url = 'https://api.github.com/repositories/7/issues',
  over: Partial<Permission> = {},
  sandbox = 'sbx_a',
) {
  const flow: Identified = {
    ...acceptedFlow(callerFrom(), canonicalOf('GET', url)),
    sandbox: sandboxWith({ id: sandbox }),
  };
  const permission: Permission = {
    rule: 'allow[0]',
    tunnel: false,
    credential: 'github',
    git: null,
    github: null,
    repository: 'acme/widgets',
    ...over,
  };
  return { flow, permission };
}

const says = (value: unknown, status = 200) => scripted(answer(status, json, JSON.stringify(value)));

describe('GitHub is asked which repository a number belongs to', () => {
  const byId = (questions: ReturnType<typeof createGithubQuestions>, id: string, { flow, permission } = asking()) =>
    questions.repositoryById(flow, permission, id, signal);

  test('and its answer is taken in canonical form', async () => {
    const ports = says({ full_name: 'Acme/Widgets.git' });
    expect(await byId(createGithubQuestions(ports), '7')).toBe('acme/widgets');
    expect(ports.seen[0]?.canonical).toMatchObject({ host: 'api.github.com', method: 'GET', path: '/repositories/7' });
    expect(ports.seen[0]?.permission.credential).toBe('github');
  });

  test.each([
    ['https://ghe.example.com/api/v3/repositories/7', '/api/v3/repositories/7'],
    ['https://ghe.example.com/API/uploads/repositories/7', '/api/v3/repositories/7'],
    ['https://api.ghe.example.com/repositories/7', '/repositories/7'],
  ])('for %s at %s', async (url, path) => {
    const ports = says({ full_name: 'acme/widgets' });
    await byId(createGithubQuestions(ports), '7', asking(url));
    expect(ports.seen[0]?.canonical.path).toBe(path);
  });

  test('once for each sandbox, credential, host and number', async () => {
    const ports = says({ full_name: 'acme/widgets' });
    const questions = createGithubQuestions(ports);
    await byId(questions, '7');
    await byId(questions, '7');
    expect(ports.seen).toHaveLength(1);
    await byId(questions, '8');
    await byId(questions, '7', asking(undefined, { credential: 'other' }));
    await byId(questions, '7', asking(undefined, {}, 'sbx_b'));
    await byId(questions, '7', asking('https://ghe.example.com/api/v3/repositories/7'));
    expect(ports.seen).toHaveLength(5);
  });

  test('404 is nobody’s, and remembered: GitHub says it of what the credential may not see', async () => {
    const ports = says({ message: 'Not Found' }, 404);
    const questions = createGithubQuestions(ports);
    expect(await byId(questions, '7')).toBeNull();
    expect(await byId(questions, '7')).toBeNull();
    expect(ports.seen).toHaveLength(1);
  });

  // A token that has run out, a rate that is used up, an organisation that wants a login first: it may be ours all the same.
  test.each([401, 403, 301, 307, 451, 429, 500, 503])(
    'status %i is a failure: no answer, and not remembered',
    async (status) => {
      let tries = 0;
      const ports = scripted((flow) =>
        answer(++tries === 1 ? status : 200, json, '{"full_name":"acme/widgets"}')(flow),
      );
      const questions = createGithubQuestions(ports);
      await expect(byId(questions, '7')).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:push\.undecided|upstream\.protocol)$/),
        message: expect.stringMatching(new RegExp(`this call.*${status}`)),
      });
      expect(await byId(questions, '7')).toBe('acme/widgets');
    },
  );

  test.each(['x', '7/../8', '', '123456789012345678901'])('%o is no number, and not asked', async (id) => {
    const ports = says({ full_name: 'acme/widgets' });
    expect(await byId(createGithubQuestions(ports), id)).toBeNull();
    expect(ports.seen).toEqual([]);
  });

  test.each(['acme', 'acme/', '/widgets', 'acme/widgets/x', 'acme/..', 'a cme/widgets'])(
    '%s is not the name of a repository',
    async (fullName) => {
      expect(await byId(createGithubQuestions(says({ full_name: fullName })), '7')).toBeNull();
    },
  );

  test.each([[{}], [[]], ['acme/widgets'], [{ full_name: ['acme/widgets'] }]])('%o is no answer', async (value) => {
    await expect(byId(createGithubQuestions(says(value)), '7')).rejects.toMatchObject({ code: 'upstream.protocol' });
  });

  test('something else than JSON is no answer', async () => {
    for (const ports of [
      scripted(answer(200, [['Content-Type', 'text/html']], '{"full_name":"acme/widgets"}')),
      scripted(answer(200, json, '{"full_name":')),
    ]) {
      await expect(byId(createGithubQuestions(ports), '7')).rejects.toMatchObject({ code: 'upstream.protocol' });
    }
  });
});

describe('GitHub is asked where a pull request comes from', () => {
  const pull = { head: { ref: 'work', repo: { full_name: 'Stranger/Widgets' } }, base: { ref: 'main' } };
  const ask = (value: unknown, number = '7') => {
    const { flow, permission } = asking();
    return createGithubQuestions(says(value)).pull(flow, permission, number, signal);
  };

  test('in the repository of the request', async () => {
    const ports = says(pull);
    const { flow, permission } = asking();
    expect(await createGithubQuestions(ports).pull(flow, permission, '7', signal)).toEqual({
      headRepository: 'Stranger/Widgets',
      headBranch: 'work',
      baseBranch: 'main',
    });
    expect(ports.seen[0]?.canonical.path).toBe('/repos/acme/widgets/pulls/7');
  });

  test('and each time anew: a pull request changes', async () => {
    const ports = says(pull);
    const questions = createGithubQuestions(ports);
    const { flow, permission } = asking();
    await questions.pull(flow, permission, '7', signal);
    await questions.pull(flow, permission, '7', signal);
    expect(ports.seen).toHaveLength(2);
  });

  test('a repository that is gone is none', async () => {
    expect(await ask({ ...pull, head: { ref: 'work', repo: null } })).toMatchObject({ headRepository: null });
  });

  test.each([{}, { ...pull, base: 'main' }, { ...pull, head: { ref: 'work' } }])('%o is no answer', async (value) => {
    await expect(ask(value)).rejects.toMatchObject({ code: 'upstream.protocol' });
  });
});

describe('the GraphQL judge’s questions', () => {
  test.each([
    ['https://api.github.com/graphql', '/graphql'],
    ['https://ghe.example.com/api/graphql', '/api/graphql'],
  ])('for %s go to %s', async (url, path) => {
    const ports = says({ data: { nodes: [] } });
    const { flow, permission } = asking(url);
    const body = Buffer.from('{"query":"x"}');
    expect(await createGithubQuestions(ports).graphql(flow, permission, body, signal)).toEqual({ data: { nodes: [] } });
    const [seen] = ports.seen;
    expect([seen?.canonical.method, seen?.canonical.path]).toEqual(['POST', path]);
    expect(seen?.request.headers.get('content-type')).toBe('application/json');
    expect(seen?.request.headers.get('content-length')).toBe(String(body.length));
  });
});
