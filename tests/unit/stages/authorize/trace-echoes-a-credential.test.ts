import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'any.example.com' }, { host: 'named.example.com', methods: ['TRACE', 'TRACK', 'POST'] }],
});

describe('a method that echoes the request never reaches an upstream', () => {
  test.each(['TRACE', 'TRACK', 'trace'])('%s, whatever a rule says', (method) => {
    for (const host of ['any.example.com', 'named.example.com']) {
      const canonical = canonicalOf(method, `https://${host}/`);
      expect(refusalOf(() => decide(policy, sandboxWith(), canonical, new HeaderList())).code).toBe(
        'method.not-allowed',
      );
    }
  });

  test('nor asked for by a header', () => {
    const headers = HeaderList.from([['X-HTTP-Method-Override', 'TRACE']]);
    const canonical = canonicalOf('POST', 'https://named.example.com/');
    expect(refusalOf(() => decide(policy, sandboxWith(), canonical, headers)).code).toBe('method.not-allowed');
    expect(decide(policy, sandboxWith(), canonical, new HeaderList()).rule).toBe('allow[1]');
  });
});
