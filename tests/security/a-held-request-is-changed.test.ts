import { describe, expect, test } from 'vitest';
import { openAskingStage } from '../support/asking-stage.ts';
import { handMadePolicy } from '../support/hand-made-policy.ts';

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
    await ground.desk.answer('q1', once);
    expect(await held).toBe('domain.not-allowed');
  });

  test('one that would send a credential which was not shown asks again', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('POST', url));
    expect(ground.desk.list()).toMatchObject([{ credential: null }]);
    ground.policy = handMadePolicy({ allow, credentials });
    await ground.desk.answer('q1', once);
    await Promise.resolve();
    expect(ground.desk.list()).toMatchObject([{ id: 'q2', credential: 'key' }]);
    await ground.desk.answer('q2', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test('a method that a server may take for another is shown as both', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('POST', url, { fields: [['X-HTTP-Method-Override', 'delete']] }));
    expect(ground.desk.list()).toMatchObject([{ method: 'POST (as DELETE)' }]);
    await ground.desk.answer('q1', once);
    expect(await held).toBe('allow[0]');
  });

  test('a path that hides a slash is shown as it came', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/a%2Fb'));
    expect(ground.desk.list()).toMatchObject([{ path: '/a%2Fb' }]);
    await ground.desk.answer('q1', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test('the query is shown as it came: it may say what is done', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/things?action=delete&all'));
    expect(ground.desk.list()).toMatchObject([{ path: '/things', query: 'action=delete&all' }]);
    await ground.desk.answer('q1', { answer: 'deny', by });
    expect(await held).toBe('approval.denied');
  });

  test('a WebSocket is shown as one', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const held = ground.outcome(ground.flowOf('GET', 'https://ask.example/live', { kind: 'websocket' }));
    expect(ground.desk.list()).toMatchObject([{ method: 'GET (WebSocket)' }]);
    await ground.desk.answer('q1', once);
    expect(await held).toBe('allow[0]');
  });

  test('the answer to one is not the answer to the next of the same', async () => {
    const ground = openAskingStage(handMadePolicy({ allow }));
    const [first, second] = [ground.outcome(ground.flowOf('POST', url)), ground.outcome(ground.flowOf('POST', url))];
    await ground.desk.answer('q1', once);
    expect(await first).toBe('allow[0]');
    expect(ground.desk.list().map(({ id }) => id)).toEqual(['q2']);
    await ground.desk.drop('one');
    expect(await second).toBe('gone');
  });
});
