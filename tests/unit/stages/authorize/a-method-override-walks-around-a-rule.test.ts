import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Permission } from '../../../../src/path/flow.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { githubPolicy, handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'api.example.com', methods: ['GET', 'POST'] }, { host: 'open.example.com' }],
  blocked: { DELETE: ['^/things/\\d+$'] },
});

function ask(url: string, field: string, method: string, by = policy): Permission {
  return decide(by, sandboxWith(), canonicalOf('POST', url), HeaderList.from([[field, method]]));
}

const fields = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'x-http-METHOD-override'];

describe('a POST that asks to be another method is judged as that method too', () => {
  test.each(fields)('%s does not add a method to a rule', (field) => {
    expect(refusalOf(() => ask('https://api.example.com/x', field, 'DELETE')).code).toBe('method.not-allowed');
    expect(ask('https://api.example.com/x', field, 'GET').rule).toBe('allow[0]');
  });

  test.each(fields)('%s does not walk around a block', (field) => {
    expect(refusalOf(() => ask('https://open.example.com/things/7', field, ' delete ')).code).toBe(
      'policy.blocked-api',
    );
    expect(ask('https://open.example.com/things', field, 'DELETE').rule).toBe('allow[1]');
  });

  test('nor around what may be written to a repository', () => {
    const issue = 'https://api.github.com/repos/acme/widgets/issues';
    expect(refusalOf(() => ask(issue, 'X-HTTP-Method-Override', 'PUT', githubPolicy)).code).toBe(
      'repo.operation-not-judged',
    );
    const merge = 'https://api.github.com/repos/acme/widgets/pulls/7/merge';
    expect(refusalOf(() => ask(merge, 'X-HTTP-Method-Override', 'PUT', githubPolicy)).code).toBe('policy.blocked-api');
  });

  test('a read that pretends to be a write, and the other way round, carries no credential it would not have', () => {
    const user = canonicalOf('GET', 'https://api.github.com/user');
    const headers = HeaderList.from([['X-HTTP-Method-Override', 'PATCH']]);
    expect(refusalOf(() => decide(githubPolicy, sandboxWith(), user, headers)).code).toBe('github.effect');
    const search = canonicalOf('GET', 'https://api.github.com/search/code?q=x');
    const pretends = HeaderList.from([['X-HTTP-Method', 'HEAD']]);
    expect(decide(githubPolicy, sandboxWith(), search, pretends).credential).toBeNull();
  });
});
