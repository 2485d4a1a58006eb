import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { CanonicalRequest, Permission } from '../../../../src/path/flow.ts';
import { createAuthorizeStage } from '../../../../src/stages/authorize/authorize-stage.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
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

const policy = handMadePolicy({
  allow: [
    { host: 'narrow.example', methods: ['POST'], paths: ['/v1/**'], ports: [8443] },
    { host: 'plain.example', plainHttp: true, ports: [80] },
    { host: '*.pinned.example', tunnel: true },
  ],
  credentials: [{ name: 'key', hosts: ['narrow.example'] }],
});

function lookupOf(host: string, type = 'A'): CanonicalRequest {
  return canonicalOf('DNS', `https://${host}/${type}`, 'lookup');
}

function ask(host: string, type?: string): Permission {
  return decide(policy, sandboxWith(), lookupOf(host, type), new HeaderList());
}

describe('a sandbox may know the names its policy names', () => {
  test.each([
    ['narrow.example', 'allow[0]'],
    ['plain.example', 'allow[1]'],
    ['a.b.pinned.example', 'allow[2]'],
  ])('%s, whatever ports, methods, paths and tunnels the rule speaks of', (host, rule) => {
    for (const type of ['A', 'AAAA', 'HTTPS', 'MX']) expect(ask(host, type).rule).toBe(rule);
  });

  test('knowing a name grants nothing else', () => {
    expect(ask('narrow.example')).toMatchObject({ credential: null, tunnel: false, git: null, github: null });
    expect(ask('a.pinned.example').tunnel).toBe(false);
  });

  test.each(['pinned.example', 'other.example', 'narrow.example.com', 'xnarrow.example'])('%s it may not', (host) => {
    const refusal = refusalOf(() => ask(host));
    const request = refusalOf(() =>
      decide(policy, sandboxWith(), canonicalOf('GET', `https://${host}/`), new HeaderList()),
    );
    // The same words as for a request: what is to be changed is the same.
    expect([refusal.code, refusal.message, refusal.rule, refusal.hint]).toEqual([
      'domain.not-allowed',
      request.message,
      request.rule,
      request.hint,
    ]);
  });

  test.each(['TXT', 'ANY', 'NULL', 'AXFR', 'IXFR', 'TYPE65280'])('%s records of any name it may not', (type) => {
    expect(refusalOf(() => ask('narrow.example', type))).toMatchObject({ code: 'method.not-allowed', status: 403 });
  });

  test('a lookup takes no place under the limits', () => {
    const limits = requestLimits({ requestsPerMinute: 1, burst: 1, concurrentRequests: 1 });
    const stage = createAuthorizeStage(() => policy, limits, noGitPorts);
    for (let i = 0; i < 3; i++) {
      const flow = { ...acceptedFlow(callerFrom(), lookupOf('narrow.example')), sandbox: sandboxWith() };
      expect(stage.run(flow)).toHaveProperty('permission');
      expect(flow.trail.release).toBeNull();
    }
  });
});
