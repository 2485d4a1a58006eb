import { describe, expect, test, vi } from 'vitest';
import { defaultEffects } from '../../../src/path/github-effects.ts';
import { openAskingStage } from '../../support/asking-stage.ts';
import { noGitPorts } from '../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';
import { withBody } from '../../unit/path/exchange/scripted-exchange.ts';

const allow = [{ host: 'ask.example', ask: true }];
const credentials = [{ name: 'key', hosts: ['ask.example'] }];
const by = 'user 0';
const once = { answer: 'approve', for: 'once', by } as const;
const url = 'https://ask.example/v1/things';

describe('what goes on is what was shown', () => {
  test('a policy that came into force meanwhile and forbids it is obeyed', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('POST', url));
    ground.policy = handMadePolicy({ allow: [{ host: 'elsewhere.example' }] });
    await ground.service.answer('q1', once);
    expect(await held).toBe('domain.not-allowed');
  });

  test('one that would send a credential which was not shown asks again', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('POST', url));
    expect(ground.service.list()).toMatchObject([{ credential: null }]);
    ground.policy = handMadePolicy({ allow, credentials });
    await ground.service.answer('q1', once);
    await Promise.resolve();
    expect(ground.service.list()).toMatchObject([{ id: 'q2', credential: 'key' }]);
    await ground.service.answer('q2', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test('a method that a server may take for another is shown as both', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('POST', url, { fields: [['X-HTTP-Method-Override', 'delete']] }));
    expect(ground.service.list()).toMatchObject([{ method: 'POST (as DELETE)' }]);
    await ground.service.answer('q1', once);
    expect(await held).toBe('allow[0]');
  });

  test.each(['/a%2Fb', '/jobs%3Fdry_run=true', '/jobs%23part'])(
    'a path that hides a sign which parts it is shown as it came: %s',
    async (path) => {
      const ground = openAskingStage(handMadePolicy({ allow }));
      const held = ground.outcome(ground.flowOf('GET', `https://ask.example${path}`));
      expect(ground.service.list()).toMatchObject([{ path, query: null }]);
      await ground.service.answer('q1', { answer: 'deny', by });
      expect(await held).toBe('approval.denied');
    },
  );

  test('one that has come to be a call of GitHub asks about its effect', async () => {
    const host = 'ghe.example';
    const credentials = [{ name: 'key', hosts: [host] }];
    const ground = openAskingStage(handMadePolicy({ allow: [{ host, ask: true }], credentials }));
    const call = 'https://ghe.example/api/v3/repos/acme/widgets/actions/workflows/1/dispatches';
    const held = ground.outcome(ground.flowOf('POST', call));
    expect(ground.service.list()).toMatchObject([{ rule: 'allow[0]', effect: null }]);
    const asks = ['dispatch'] as const;
    ground.policy = handMadePolicy({ allow: [{ host }], credentials, githubHosts: [host], effects: asks, asks });
    await ground.service.answer('q1', once);
    await Promise.resolve();
    expect(ground.service.list()).toMatchObject([{ id: 'q2', rule: 'github.effects.bot.ask', effect: 'dispatch' }]);
    await ground.service.answer('q2', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test.each(['repos/acme/widgets', 'repositories/7'])(
    'a pattern that came into force meanwhile and blocks %s is obeyed',
    async (repository) => {
      const policy = {
        allow: [{ host: 'api.github.com' }],
        effects: [...defaultEffects, 'approve'],
        asks: ['approve'],
      } as const;
      const questions = { ...noGitPorts.questions, repositoryById: async () => 'acme/widgets' };
      const ground = openAskingStage(handMadePolicy(policy), {}, { questions });
      const flow = ground.flowOf('POST', `https://api.github.com/${repository}/pulls/7/reviews`);
      const exchange = withBody([Buffer.from('{"event":"APPROVE"}')]);
      const held = ground.outcome({ ...flow, exchange });
      await vi.waitFor(() => expect(ground.service.list()).toMatchObject([{ effect: 'approve' }]));
      ground.policy = handMadePolicy({ ...policy, blocked: { POST: ['^/repos/acme/widgets/pulls/\\d+/reviews$'] } });
      await ground.service.answer('q1', once);
      expect(await held).toBe('policy.blocked-api');
    },
  );

  test('the query is shown as it came: it may say what is done', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/things?action=delete&all'));
    expect(ground.service.list()).toMatchObject([{ path: '/things', query: 'action=delete&all' }]);
    await ground.service.answer('q1', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test('a WebSocket is shown as one', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/live', { kind: 'websocket' }));
    expect(ground.service.list()).toMatchObject([{ method: 'GET (WebSocket)' }]);
    await ground.service.answer('q1', once);
    expect(await held).toBe('allow[0]');
  });

  test('the answer to one is not the answer to the next of the same', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const [first, second] = [ground.outcome(ground.flowOf('POST', url)), ground.outcome(ground.flowOf('POST', url))];
    await ground.service.answer('q1', once);
    expect(await first).toBe('allow[0]');
    expect(ground.service.list().map(({ id }) => id)).toEqual(['q2']);
    await ground.service.drop('one');
    expect(await second).toBe('gone');
  });
});
