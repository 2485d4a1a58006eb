import { describe, expect, test } from 'vitest';
import { ApprovalsInForce } from '../../../../src/gateway/approvals/approvals-in-force.ts';
import type { Approval } from '../../../../src/path/approvals.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({ allow: [{ host: 'ask.example', ask: true, conversation: true }] });
const covers = {
  kind: 'request',
  scheme: 'https',
  host: 'ask.example',
  port: 443,
  method: 'POST',
  path: '/v1/*',
  tunnel: false,
  websocket: false,
  credential: null,
} as const;
const approval: Approval = { id: 'a1', sandbox: 'one', untilMs: 100, by: 'user 0', covers };

describe('the policy as it holds for one sandbox', () => {
  test('is the very policy where nothing was approved, and for everybody else', () => {
    const inForce = new ApprovalsInForce({ now: () => 0 });
    expect(inForce.policyFor(policy, 'one')).toBe(policy);
    inForce.replace({ approvals: [approval], learning: [] });
    expect(inForce.policyFor(policy, 'two')).toBe(policy);
    expect(inForce.policyFor(policy, 'one')).not.toBe(policy);
    const elsewhere = { ...covers, host: 'elsewhere.example' };
    inForce.replace({
      approvals: [approval, { ...approval, id: 'a2', sandbox: 'two', covers: elsewhere }],
      learning: [],
    });
    expect(inForce.policyFor(policy, 'two').rulesFor('ask.example')).toEqual(policy.allow);
    expect(inForce.policyFor(policy, 'one').rulesFor('elsewhere.example')).toEqual([]);
  });

  test('has what was approved in front, as narrow as it was asked, and is made once', () => {
    const inForce = new ApprovalsInForce({ now: () => 0 });
    inForce.replace({ approvals: [approval], learning: [] });
    const view = inForce.policyFor(policy, 'one');
    const [first, second, ...rest] = view.rulesFor('ask.example');
    expect(first).toMatchObject({
      name: 'approval a1',
      ask: false,
      ports: [443],
      plainHttp: false,
      conversation: true,
    });
    expect([...first!.methods!]).toEqual(['POST']);
    expect(first!.paths!.map(({ covers: isCovered }) => [isCovered('/v1/*'), isCovered('/v1/x')])).toEqual([
      [true, false],
    ]);
    expect([second, ...rest]).toEqual(policy.allow);
    expect(view.rulesFor('sub.ask.example')).toEqual([]);
    expect(inForce.policyFor(policy, 'one')).toBe(view);
    const reloaded = { ...policy };
    expect(inForce.policyFor(reloaded, 'one')).not.toBe(view);
  });

  test('forgets by the clock, without being told', () => {
    let nowMs = 99;
    const inForce = new ApprovalsInForce({ now: () => nowMs });
    const about = { scheme: 'https', host: 'api.github.com', port: 443, effect: 'release', credential: 'key' } as const;
    const shown = { ...about, repository: 'acme/widgets' };
    const effect = { kind: 'effect', ...shown } as const;
    inForce.replace({ approvals: [approval, { ...approval, id: 'a2', untilMs: 200, covers: effect }], learning: [] });
    expect(inForce.policyFor(policy, 'one').allow).toHaveLength(2);
    nowMs = 100;
    expect(inForce.policyFor(policy, 'one').allow).toHaveLength(1);
    expect(inForce.coversEffect('one', shown)).toBe(true);
    nowMs = 200;
    expect(inForce.coversEffect('one', shown)).toBe(false);
    expect(inForce.policyFor(policy, 'one')).toBe(policy);
  });

  test('what is told is everything: what is not in it is over', () => {
    const inForce = new ApprovalsInForce({ now: () => 0 });
    inForce.replace({ approvals: [approval], learning: ['one'] });
    expect(inForce.isLearning('one')).toBe(true);
    inForce.replace({ approvals: [], learning: [] });
    expect(inForce.isLearning('one')).toBe(false);
    expect(inForce.policyFor(policy, 'one')).toBe(policy);
  });
});
