import { describe, expect, test } from 'vitest';
import type { Authorized, CanonicalRequest, Identified } from '../../../../src/path/flow.ts';
import { createAuthorizeStage } from '../../../../src/stages/authorize/authorize-stage.ts';
import type { RequestLimits } from '../../../../src/stages/authorize/limits/limits.ts';
import {
  acceptedFlow,
  callerFrom,
  canonicalOf,
  noGitPorts,
  refusalOf,
  sandboxWith,
} from '../../../support/hand-made-flow.ts';
import { requestLimits } from '../../../support/hand-made-gate.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const sandbox = sandboxWith();
const open = handMadePolicy({ allow: [{ host: 'api.example.com' }] });

function limitsOf(concurrentRequests: number): RequestLimits {
  return requestLimits({ requestsPerMinute: 1000, burst: 1000, concurrentRequests });
}

function flowFor(url: string, kind: CanonicalRequest['kind'] = 'http'): Identified {
  return { ...acceptedFlow(callerFrom(), canonicalOf('GET', url, kind)), sandbox };
}

describe('the authorize stage asks the policy that is in force now', () => {
  test('a reload holds from the next request on', () => {
    let policy = open;
    const stage = createAuthorizeStage(() => policy, limitsOf(10), noGitPorts);
    const flow = flowFor('https://api.example.com/');
    expect((stage.run(flow) as Authorized).permission.rule).toBe('allow[0]');
    policy = handMadePolicy({});
    expect(refusalOf(() => stage.run(flow)).code).toBe('domain.not-allowed');
  });

  test('it answers without a promise and keeps what the flow already knows', () => {
    const flow = flowFor('https://api.example.com/');
    const out = createAuthorizeStage(() => open, limitsOf(10), noGitPorts).run(flow);
    expect(out).not.toBeInstanceOf(Promise);
    expect(out).toMatchObject({ requestId: flow.requestId, sandbox: flow.sandbox, canonical: flow.canonical });
  });
});

describe('the authorize stage counts requests against the limits of their sandbox', () => {
  test('a request holds its place until the flow is over, refused or not', () => {
    const stage = createAuthorizeStage(() => open, limitsOf(1), noGitPorts);
    for (const url of ['https://api.example.com/', 'https://other.example.com/']) {
      const flow = flowFor(url);
      try {
        // Decided at once: it throws here, or is done.
        void stage.run(flow);
      } catch {
        // The second one is refused by policy, and holds its place like the first.
      }
      expect(refusalOf(() => stage.run(flowFor('https://api.example.com/'))).code).toBe('limit.concurrent');
      flow.trail.end();
    }
    expect(stage.run(flowFor('https://api.example.com/'))).toHaveProperty('permission');
  });

  test('asking for a tunnel is not counted; what comes through it is', () => {
    const stage = createAuthorizeStage(() => open, limitsOf(1), noGitPorts);
    for (let i = 0; i < 3; i++)
      expect(stage.run(flowFor('https://api.example.com/', 'connect'))).not.toBeInstanceOf(Promise);
    expect(stage.run(flowFor('https://api.example.com/'))).toHaveProperty('permission');
    expect(refusalOf(() => stage.run(flowFor('https://api.example.com/'))).code).toBe('limit.concurrent');
  });
});

describe('a request that waits for a person', () => {
  const asking = handMadePolicy({ allow: [{ host: 'api.example.com', ask: true }, { host: 'open.example.com' }] });

  test.each([
    ['takes a free one again', true],
    ['goes on without one where others have them all', false],
  ])('has no place while it waits, %s, and gives back what it has', async (_what, isFree) => {
    let approve = (): void => {};
    const granted = new Promise<{ granted: true; how: string }>((resolve) => {
      approve = () => resolve({ granted: true, how: 'approve once by user 0' });
    });
    const stage = createAuthorizeStage(() => asking, limitsOf(1), { ...noGitPorts, asking: { ask: () => granted } });
    const held = flowFor('https://api.example.com/');
    const authorized = stage.run(held);
    const other = flowFor('https://open.example.com/');
    expect(stage.run(other)).toHaveProperty('permission');
    if (isFree) other.trail.end();
    approve();
    expect((await authorized).permission.rule).toBe('allow[0]');
    // Whichever of the two has the place, the end of the one without it does not free it.
    (isFree ? other : held).trail.end();
    expect(refusalOf(() => stage.run(flowFor('https://open.example.com/'))).code).toBe('limit.concurrent');
    (isFree ? held : other).trail.end();
    expect(stage.run(flowFor('https://open.example.com/'))).toHaveProperty('permission');
  });
});
