import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Identified } from '../../../../src/path/flow.ts';
import type { AllowRule } from '../../../../src/policy/compiled.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { openAskingStage } from '../../../support/asking-stage.ts';
import { eventually } from '../../../support/eventually.ts';
import { canonicalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { githubPolicy, handMadePolicy } from '../../../support/hand-made-policy.ts';
import { withBody } from '../../path/exchange/scripted-exchange.ts';

const sandbox = sandboxWith();
const policy = handMadePolicy({
  allow: [
    { host: 'api.example.com', methods: ['GET'] },
    { host: 'api.example.com', methods: ['DELETE'], ask: true },
    { host: 'tunnel.example.com', tunnel: true, ask: true },
  ],
  credentials: [{ name: 'key', hosts: ['api.example.com'] }],
});
const decideOn = (method: string, url: string, fields: [string, string][] = [], over = policy) =>
  decide(over, sandbox, canonicalOf(method, url), HeaderList.from(fields));

describe('a person is asked where the first rule that covers a request says so', () => {
  test('and nowhere else', () => {
    expect(decideOn('GET', 'https://api.example.com/').askedBy).toBeUndefined();
    expect(decideOn('DELETE', 'https://api.example.com/')).toMatchObject({ rule: 'allow[1]', askedBy: 'allow[1]' });
  });

  test('also for a method that it may turn into', () => {
    const asked = decideOn('GET', 'https://api.example.com/', [['X-HTTP-Method-Override', 'DELETE']]);
    expect(asked).toMatchObject({ rule: 'allow[0]', askedBy: 'allow[1]' });
  });

  test('about a tunnel when it is one, not when it is asked for', () => {
    const kindly = (kind: 'connect' | 'tunnel' | 'lookup') =>
      decide(policy, sandbox, canonicalOf('CONNECT', 'https://tunnel.example.com', kind), new HeaderList());
    expect(kindly('tunnel')).toMatchObject({ tunnel: true, askedBy: 'allow[2]' });
    expect(kindly('connect').askedBy).toBeUndefined();
    expect(kindly('lookup').askedBy).toBeUndefined();
  });

  test('a bare rule takes the credential away', () => {
    const bare: AllowRule = { ...policy.allow[0]!, bare: true };
    const learning = { ...policy, rulesFor: () => [bare] };
    expect(decideOn('GET', 'https://api.example.com/').credential).toBe('key');
    expect(decideOn('GET', 'https://api.example.com/', [], learning).credential).toBeNull();
  });
});

describe('a person is asked about effects on GitHub', () => {
  const asks = { bot: new Set(['issue', 'approve'] as const), user: new Set<never>() };
  const effects = new Set([...githubPolicy.githubEffects.bot, 'approve' as const]);
  const asking = { ...githubPolicy, githubAsks: asks, githubEffects: { bot: effects, user: effects } };
  const labels = 'https://api.github.com/repos/acme/widgets/issues/7/labels';

  test('by the mode of the sandbox', () => {
    expect(decideOn('POST', labels, [], asking).askedBy).toBe('github.effects.bot.ask');
    const user = sandboxWith({ authMode: 'user' });
    expect(decide(asking, user, canonicalOf('POST', labels), new HeaderList()).askedBy).toBeUndefined();
    expect(decideOn('GET', labels, [], asking).askedBy).toBeUndefined();
  });

  test('once for an effect and a repository, until the approval is over', async () => {
    const ground = openAskingStage(asking);
    const held = ground.outcome(ground.flowOf('POST', labels));
    expect(ground.service.list()).toMatchObject([
      { effect: 'issue', repository: 'acme/widgets', credential: 'github' },
    ]);
    const answer = { answer: 'approve', for: 'minutes', minutes: 1, scope: 'path', by: 'user 0' } as const;
    await ground.service.answer('q1', answer);
    expect(await held).toBe('allow[1]');
    expect(await ground.send('POST', labels.replace('/7/', '/8/'))).toBe('allow[1]');
    ground.pass(60_000);
    expect(await ground.send('POST', labels)).toBe('asked');
  });

  const withText = (flow: Identified, body: object): Identified => ({
    ...flow,
    exchange: withBody([Buffer.from(JSON.stringify(body))]),
  });

  test('that only the body tells: a review that approves, and not one that comments', async () => {
    const reviews = 'https://api.github.com/repos/acme/widgets/pulls/7/reviews';
    const ground = openAskingStage(asking);
    const comments = ground.outcome(withText(ground.flowOf('POST', reviews), { event: 'COMMENT' }));
    expect(await comments).toBe('allow[1]');
    const approves = ground.outcome(withText(ground.flowOf('POST', reviews), { event: 'APPROVE' }));
    await eventually(() => ground.service.list().length, 'a person is asked');
    expect(ground.service.list()).toMatchObject([{ effect: 'approve', rule: 'github.effects.bot.ask' }]);
    await ground.service.answer('q1', { answer: 'deny', by: 'user 0' });
    expect(await approves).toBe('approval.denied');
  });

  test('that a GraphQL document has: approved it is judged again and passes, with the policy of then', async () => {
    const document = 'query { repository(owner: "acme", name: "widgets") { name } }';
    const reading = { ...asking, githubAsks: { bot: new Set(['read' as const]), user: new Set<never>() } };
    const ground = openAskingStage(reading);
    const asked = () =>
      ground.outcome(withText(ground.flowOf('POST', 'https://api.github.com/graphql'), { query: document }));
    const [passes, refused] = [asked(), asked()];
    await eventually(() => ground.service.list().length === 2, 'a person is asked');
    expect(ground.service.list()).toMatchObject([{ effect: 'read', repository: 'acme/widgets' }, {}]);
    await ground.service.answer('q1', { answer: 'approve', for: 'once', by: 'user 0' });
    expect(await passes).toBe('allow[1]');
    ground.policy = { ...reading, githubEffects: { bot: new Set(), user: new Set() } };
    await ground.service.answer('q2', { answer: 'approve', for: 'once', by: 'user 0' });
    expect(await refused).toBe('github.effect');
  });

  test('each of them, where one document has several', async () => {
    const document =
      'query { repository(owner: "acme", name: "widgets") { name } other: repository(owner: "acme", name: "gears") { name } }';
    const reading = { ...asking, githubAsks: { bot: new Set(['read' as const]), user: new Set<never>() } };
    const ground = openAskingStage(reading);
    const sandbox = { repos: ['acme/widgets', 'acme/gears'] };
    const flow = ground.flowOf('POST', 'https://api.github.com/graphql', { sandbox });
    const held = ground.outcome(withText(flow, { query: document }));
    await eventually(() => ground.service.list().length, 'a person is asked about the one');
    expect(ground.service.list()).toMatchObject([{ id: 'q1', repository: 'acme/widgets' }]);
    await ground.service.answer('q1', { answer: 'approve', for: 'once', by: 'user 0' });
    await eventually(() => ground.service.list().length, 'and about the other');
    expect(ground.service.list()).toMatchObject([{ id: 'q2', repository: 'acme/gears' }]);
    await ground.service.answer('q2', { answer: 'deny', by: 'user 0' });
    expect(await held).toBe('approval.denied');
  });

  test('but no body without end is kept for a person to look', async () => {
    const reviews = 'https://api.github.com/repos/acme/widgets/pulls/7/reviews';
    const ground = openAskingStage(asking);
    const large = { event: 'APPROVE', body: 'x'.repeat(130 * 1024) };
    expect(await ground.outcome(withText(ground.flowOf('POST', reviews), large))).toBe('limit.body-size');
    expect(ground.service.list()).toEqual([]);
    const comment = { ...large, event: 'COMMENT' };
    expect(await ground.outcome(withText(ground.flowOf('POST', reviews), comment))).toBe('allow[1]');
  });
});
