import { describe, expect, test } from 'vitest';
import { createAuthorizeStage } from '../../../src/authorize/authorize-stage.ts';
import { SandboxLimits } from '../../../src/authorize/limits.ts';
import type { Authorized, CanonicalRequest, Identified } from '../../../src/flow/flow.ts';
import {
  acceptedFlow,
  callerFrom,
  canonicalOf,
  noGitPorts,
  refusalOf,
  sandboxWith,
} from '../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

const sandbox = sandboxWith();
const open = handMadePolicy({ allow: [{ host: 'api.example.com' }] });

function limitsOf(concurrentRequests: number): SandboxLimits {
  return new SandboxLimits({ limits: () => ({ requestsPerMinute: 1000, concurrentRequests }) });
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
        stage.run(flow);
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
    for (let i = 0; i < 3; i++) stage.run(flowFor('https://api.example.com/', 'connect'));
    expect(stage.run(flowFor('https://api.example.com/'))).toHaveProperty('permission');
    expect(refusalOf(() => stage.run(flowFor('https://api.example.com/'))).code).toBe('limit.concurrent');
  });
});
