import { describe, expect, test } from 'vitest';
import { openAskingStage } from '../../support/asking-stage.ts';
import { githubPolicy, handMadePolicy } from '../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [
    { host: 'ask.example', ask: true, plainHttp: true, ports: [443, 80, 8443] },
    { host: '*.ask.example', ask: true },
  ],
});
const by = 'user 0';

async function approved(method: string, url: string, scope: 'path' | 'host' = 'path') {
  const ground = openAskingStage(policy);
  const held = ground.outcome(ground.flowOf(method, url));
  await ground.service.answer('q1', { answer: 'approve', for: 'minutes', minutes: 5, scope, by });
  expect(await held).toBe('approval a1');
  return ground;
}

describe('what was approved for one path is asked about everywhere else', () => {
  test.each([
    ['GET', 'https://ask.example/v1/things'],
    ['DELETE', 'https://ask.example/v1/things'],
    ['POST', 'https://ask.example/v1/things/'],
    ['POST', 'https://ask.example/v1/Things'],
    ['POST', 'https://ask.example/v1/things/7'],
    ['POST', 'https://ask.example/v1%2Fthings'],
    ['POST', 'https://ask.example/v1/things%2fadmin'],
    ['POST', 'https://ask.example/v1/things;x'],
    ['POST', 'http://ask.example/v1/things'],
    ['POST', 'https://ask.example:8443/v1/things'],
  ])('%s %s', async (method, url) => {
    const ground = await approved('POST', 'https://ask.example/v1/things');
    expect(await ground.send(method, url)).toBe('asked');
    expect(await ground.send('POST', 'https://ask.example/v1/things?more=1')).toBe('approval a1');
  });

  test.each(['x-http-method-override', 'x-http-method', 'x-method-override'])(
    'nor does it become another method by %s',
    async (field) => {
      const ground = await approved('POST', 'https://ask.example/v1/things');
      expect(await ground.send('POST', 'https://ask.example/v1/things', { fields: [[field, 'DELETE']] })).toBe('asked');
    },
  );

  test('the same path by another spelling is the same path, and one with a star means the star', async () => {
    const ground = await approved('POST', 'https://ask.example/v1/*');
    expect(await ground.send('POST', 'https://ask.example/v1/%2A')).toBe('approval a1');
    expect(await ground.send('POST', 'https://ask.example/v1/other')).toBe('asked');
  });

  test.each(['/@types%2Fnode', '/jobs%3Fdry_run=true', '/jobs%23part'])(
    '%s is approved once, or with all paths: one text is not both of its readings',
    async (path) => {
      const ground = openAskingStage(policy);
      const held = ground.outcome(ground.flowOf('GET', `https://ask.example${path}`));
      const minutes = { answer: 'approve', for: 'minutes', minutes: 5, by } as const;
      await expect(ground.service.answer('q1', { ...minutes, scope: 'path' })).rejects.toThrow('an encoded separator');
      await ground.service.answer('q1', { ...minutes, scope: 'host' });
      expect(await held).toBe('approval a1');
    },
  );

  test('for the whole host: neither another method nor another host', async () => {
    const ground = await approved('POST', 'https://ask.example/v1/things', 'host');
    expect(await ground.send('POST', 'https://ask.example/anything')).toBe('approval a1');
    expect(await ground.send('PUT', 'https://ask.example/anything')).toBe('asked');
    expect(await ground.send('POST', 'https://sub.ask.example/v1/things')).toBe('asked');
  });
});

describe('nor does it carry a credential that was not shown', () => {
  const allow = [{ host: 'ask.example', ask: true }];
  const credentials = [{ name: 'key', hosts: ['ask.example'], paths: ['/admin/*'] }];
  const minutes = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'host', by } as const;

  test('not on another path of the host', async () => {
    const ground = openAskingStage(handMadePolicy({ allow, credentials }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/open'));
    expect(ground.service.list()).toMatchObject([{ credential: null }]);
    await ground.service.answer('q1', minutes);
    expect(await held).toBe('approval a1');
    expect(await ground.send('GET', 'https://ask.example/more')).toBe('approval a1');
    expect(await ground.send('GET', 'https://ask.example/admin/x')).toBe('asked');
  });

  test('not when the policy has got one since', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/admin/x'));
    await ground.service.answer('q1', minutes);
    expect(await held).toBe('approval a1');
    ground.policy = handMadePolicy({ allow, credentials });
    expect(await ground.send('GET', 'https://ask.example/admin/x')).toBe('asked');
  });

  test('and with the one that was shown it passes', async () => {
    const ground = openAskingStage(handMadePolicy({ allow, credentials }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/admin/x'));
    await ground.service.answer('q1', minutes);
    expect(await held).toBe('approval a1');
    expect(await ground.send('GET', 'https://ask.example/admin/y')).toBe('approval a1');
  });
});

describe('an effect on a repository that is named by its number', () => {
  test('is not approved for every repository by who approves this one', async () => {
    const asks = { bot: new Set(['issue'] as const), user: new Set<never>() };
    const ground = openAskingStage({ ...githubPolicy, githubAsks: asks });
    const held = ground.outcome(ground.flowOf('POST', 'https://api.github.com/repositories/7/issues/1/labels'));
    expect(ground.service.list()).toMatchObject([{ effect: 'issue', repository: null }]);
    const minutes = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by } as const;
    await expect(ground.service.answer('q1', minutes)).rejects.toThrow('does not know the name of the repository');
    await ground.service.answer('q1', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
    const label = 'https://api.github.com/repos/acme/widgets/issues/7/labels';
    expect(await ground.send('POST', label)).toBe('asked');
  });
});

describe('an effect on GitHub that was approved for a while', () => {
  const asks = { bot: new Set(['issue'] as const), user: new Set<never>() };
  const allow = ['api.github.com', 'ghe.example.com'].map((host) => ({ host, ports: [443, 8443] }));
  // One for both: where it is the server that is another, nothing else is.
  const own = [{ name: 'key', hosts: allow.map(({ host }) => host) }];
  const made = (credentials = own) => ({
    ...handMadePolicy({ allow, credentials, githubHosts: ['ghe.example.com'] }),
    githubAsks: asks,
  });
  // Decided by its address: what a comment says is read.
  const labels = '/repos/acme/widgets/issues/7/labels';
  const shown = `https://api.github.com${labels}`;
  const enterprise = `https://ghe.example.com/api/v3${labels}`;
  const minutes = { answer: 'approve', for: 'minutes', minutes: 5, by } as const;

  async function approvedEffect(scope: 'path' | 'host' = 'path') {
    const ground = openAskingStage(made());
    const held = ground.outcome(ground.flowOf('POST', shown));
    expect(ground.service.list()).toMatchObject([{ effect: 'issue', host: 'api.github.com', credential: 'key' }]);
    const said = await ground.service.answer('q1', { ...minutes, scope });
    expect(said).toMatch(/issue on .* at api\.github\.com, with key$/);
    expect(await held).toBe('allow[0]');
    expect(await ground.send('POST', shown)).toBe('allow[0]');
    return ground;
  }

  test.each(['path', 'host'] as const)('holds for that server alone, also for every repository: %s', async (scope) => {
    const ground = await approvedEffect(scope);
    expect(await ground.send('POST', enterprise)).toBe('asked');
    expect(await ground.send('POST', shown.replace('.com/', '.com:8443/'))).toBe('asked');
  });

  test.each([
    ['another', [{ name: 'admin', hosts: ['api.github.com'] }, ...own]],
    ['none', []],
  ])('holds with the credential that was shown, and not with %s', async (_what, credentials) => {
    const ground = await approvedEffect();
    ground.policy = made(credentials);
    expect(await ground.send('POST', shown)).toBe('asked');
    ground.policy = made();
    expect(await ground.send('POST', shown)).toBe('allow[0]');
  });

  test('lets no request go that waits for another server', async () => {
    const ground = openAskingStage(made());
    const [first, second] = [shown, enterprise].map((url) => ground.outcome(ground.flowOf('POST', url)));
    await ground.service.answer('q1', { ...minutes, scope: 'host' });
    expect(await first).toBe('allow[0]');
    expect(ground.service.list()).toMatchObject([{ id: 'q2', host: 'ghe.example.com' }]);
    await ground.service.answer('q2', { answer: 'deny', by });
    expect(await second).toBe('approval.denied');
  });
});

describe('what was shown as a plain request is no WebSocket, and the other way round', () => {
  const url = 'https://ask.example/live';
  const websocket = { kind: 'websocket' } as const;

  test.each(['path', 'host'] as const)('approved as a plain GET: %s', async (scope) => {
    const ground = await approved('GET', url, scope);
    expect(await ground.send('GET', url, websocket)).toBe('asked');
    expect(await ground.send('GET', url)).toBe('approval a1');
  });

  test.each(['path', 'host'] as const)('approved as a WebSocket: %s', async (scope) => {
    const ground = openAskingStage(policy);
    const held = ground.outcome(ground.flowOf('GET', url, websocket));
    await ground.service.answer('q1', { answer: 'approve', for: 'minutes', minutes: 5, scope, by });
    expect(await held).toBe('approval a1');
    expect(await ground.send('GET', url)).toBe('asked');
    expect(await ground.send('GET', url, websocket)).toBe('approval a1');
  });

  test('nor does the answer to the one let the other go, whatever is answered', async () => {
    for (const answer of [
      { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by },
      { answer: 'approve', for: 'always', scope: 'path', line: '  - { host: ask.example }', by },
    ] as const) {
      const ground = openAskingStage(policy);
      const [plain, opened] = [ground.flowOf('GET', url), ground.flowOf('GET', url, websocket)].map(ground.outcome);
      await ground.service.answer('q1', answer);
      await plain;
      expect(ground.service.list()).toMatchObject([{ id: 'q2', method: 'GET (WebSocket)' }]);
      await ground.service.answer('q2', { answer: 'deny', by });
      expect(await opened).toBe('approval.denied');
    }
  });

  test('where only the approval lets anything pass, the refusal says which it is', async () => {
    const ground = await approved('GET', url);
    ground.policy = handMadePolicy({});
    expect(await ground.send('GET', url)).toBe('approval a1');
    expect(await ground.send('GET', url, websocket)).toBe('method.not-allowed');
  });

  test('one that may be another method as well is shown as both, and approved once only', async () => {
    const ground = openAskingStage(policy);
    const fields: [string, string][] = [['x-http-method-override', 'DELETE']];
    const held = ground.outcome(ground.flowOf('GET', url, { ...websocket, fields }));
    expect(ground.service.list()).toMatchObject([{ method: 'GET (WebSocket, as DELETE)' }]);
    const minutes = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by } as const;
    await expect(ground.service.answer('q1', minutes)).rejects.toThrow('more than one method');
    await ground.service.answer('q1', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test('a rule of the policy for GET lets both pass, as it always did', async () => {
    const ground = openAskingStage(handMadePolicy({ allow: [{ host: 'ask.example', methods: ['GET'] }] }));
    expect(await ground.send('GET', url)).toBe('allow[0]');
    expect(await ground.send('GET', url, websocket)).toBe('allow[0]');
  });
});

describe('nor anybody else, nor later', () => {
  test('another sandbox is asked about', async () => {
    const ground = await approved('POST', 'https://ask.example/v1/things');
    const other = { sandbox: { id: 'two' } };
    expect(await ground.send('POST', 'https://ask.example/v1/things', other)).toBe('asked');
  });

  test('when its time is over it is asked about again', async () => {
    const ground = await approved('POST', 'https://ask.example/v1/things');
    ground.pass(5 * 60_000 - 1);
    expect(await ground.send('POST', 'https://ask.example/v1/things')).toBe('approval a1');
    ground.pass(1);
    expect(await ground.send('POST', 'https://ask.example/v1/things')).toBe('asked');
  });

  test('a sandbox that is registered anew under the same name is asked about', async () => {
    const ground = await approved('POST', 'https://ask.example/v1/things');
    await ground.service.drop('one');
    expect(await ground.send('POST', 'https://ask.example/v1/things')).toBe('asked');
  });

  test('what is judged by the rules of GitHub stays judged by them', async () => {
    const ground = await approved('POST', 'https://ask.example/v1/things');
    ground.policy = { ...handMadePolicy({}), githubHosts: ['ask.example'] };
    expect(await ground.send('POST', 'https://ask.example/v1/things')).toBe('repo.operation-not-judged');
  });
});
