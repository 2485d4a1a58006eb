import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { CompiledPolicy } from '../../../../src/policy/compiled.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'api.example.com' }],
  credentials: [{ name: 'key', hosts: ['api.example.com'] }],
});

function broken(): never {
  throw new Error('internal detail: /etc/secret');
}

const brokenPolicies: readonly (readonly [string, CompiledPolicy])[] = [
  ['the allowlist', { ...policy, rulesFor: broken }],
  ['a host pattern of a credential', { ...policy, credentialsFor: broken }],
  ['a block', { ...policy, blockedApiPatterns: new Map([['GET', [{ rule: 'r', text: 't', matches: broken }]]]) }],
  ['a path pattern', { ...policy, rulesFor: () => [{ ...policy.allow[0]!, paths: [{ text: 'p', covers: broken }] }] }],
];

describe('a rule that throws refuses the request', () => {
  test.each(brokenPolicies)('%s', (_what, by) => {
    const refusal = refusalOf(() =>
      decide(by, sandboxWith(), canonicalOf('GET', 'https://api.example.com/'), new HeaderList()),
    );
    expect(refusal).toMatchObject({ code: 'policy.error', status: 403 });
    expect(`${refusal.message} ${refusal.hint} ${refusal.rule}`).not.toContain('/etc/secret');
    expect(refusal.cause).toMatchObject({ message: 'internal detail: /etc/secret' });
  });

  test('also for a tunnel', () => {
    const by = { ...policy, rulesFor: broken };
    for (const kind of ['connect', 'tunnel'] as const) {
      const canonical = canonicalOf('CONNECT', 'https://api.example.com', kind);
      expect(refusalOf(() => decide(by, sandboxWith(), canonical, new HeaderList())).code).toBe('policy.error');
    }
  });
});
