import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { CanonicalRequest, Permission } from '../../../../src/path/flow.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { githubPolicy, handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'api.example.com' }, { host: 'narrow.example.com', paths: ['/v1/**', '/files/*'] }],
  credentials: [{ name: 'key', hosts: ['narrow.example.com', 'api.example.com'], paths: ['/v1/**'] }],
  blocked: {
    PUT: ['^/repos/[^/]+/[^/]+/pulls/\\d+/merge$'],
    DELETE: ['^/repos/[^/]+/[^/]+$'],
    POST: ['^/raw%2Fonly$'],
  },
});

function ask(canonical: CanonicalRequest): Permission {
  return decide(policy, sandboxWith(), canonical, new HeaderList());
}

function codeOf(method: string, url: string): string {
  return refusalOf(() => ask(canonicalOf(method, url))).code;
}

describe('a block holds for every reading of the path', () => {
  test.each([
    ['PUT', '/repos/o/r/pulls/1/merge'],
    ['PUT', '/repos/o/r/pulls/1/merge/'],
    ['PUT', '/repos/o/r/pulls/1/%6Derge'],
    ['PUT', '/repos/o/r/pulls/%31/merge'],
    ['PUT', '/%72epos/o/r/pulls/1/merge'],
    ['PUT', '/repos%2Fo%2Fr%2Fpulls%2F1%2Fmerge'],
    ['PUT', '/repos/o/r/pulls/1%2fmerge'],
    ['PUT', '/repos/o/r/pulls/1%2Fmerge%2F'],
    ['PUT', '/repos/o/r/pulls/1/merge?x=/repos'],
    ['DELETE', '/repos/o/r'],
    ['DELETE', '/repos/o/r/'],
    ['DELETE', '/repos/o/r%3Fx'],
    ['DELETE', '/repos/o/r%23x'],
    ['DELETE', '/repos/o%2Fr'],
    ['POST', '/raw%2Fonly'],
  ])('%s %s', (method, path) => {
    expect(codeOf(method, `https://api.example.com${path}`)).toBe('policy.blocked-api');
  });

  test('also when the pattern itself does not know of trailing slashes', () => {
    const strict = {
      ...policy,
      blockedApiPatterns: new Map([['PUT', [{ rule: 'r', text: 't', matches: (path: string) => path === '/danger' }]]]),
    };
    for (const path of ['/danger', '/danger/', '/dan%67er/', '/danger%2F']) {
      const canonical = canonicalOf('PUT', `https://api.example.com${path}`);
      expect(refusalOf(() => decide(strict, sandboxWith(), canonical, new HeaderList())).code, path).toBe(
        'policy.blocked-api',
      );
    }
  });

  test('a method in another case is the same method', () => {
    expect(codeOf('delete', 'https://api.example.com/repos/o/r')).toBe('policy.blocked-api');
  });

  test('an Enterprise host keeps its API under /api/v3, and the block holds there', () => {
    for (const path of ['/api/v3/repos/acme/widgets/pulls/1/merge', '/API/v3/repos/acme/widgets/pulls/1/merge/']) {
      const canonical = canonicalOf('PUT', `https://ghe.example.com${path}`);
      expect(refusalOf(() => decide(githubPolicy, sandboxWith(), canonical, new HeaderList())).code).toBe(
        'policy.blocked-api',
      );
    }
  });

  test('what is not blocked passes, so that the list above means something', () => {
    expect(ask(canonicalOf('PUT', 'https://api.example.com/repos/o/r/pulls/1/files')).rule).toBe('allow[0]');
    expect(ask(canonicalOf('DELETE', 'https://api.example.com/repos/o/r/x')).rule).toBe('allow[0]');
  });
});

describe('a hidden slash opens no path and earns no credential', () => {
  test('an allowed path must be allowed as it came, too', () => {
    expect(codeOf('GET', 'https://narrow.example.com/v1%2Fadmin')).toBe('path.not-allowed');
    expect(codeOf('GET', 'https://narrow.example.com/files/a%2Fb')).toBe('path.not-allowed');
    expect(ask(canonicalOf('GET', 'https://narrow.example.com/v1/projects/group%2Fproject')).credential).toBe('key');
  });

  test('a credential goes only where both readings have it', () => {
    expect(ask(canonicalOf('GET', 'https://api.example.com/v1%2Ftelemetry')).credential).toBeNull();
    expect(ask(canonicalOf('GET', 'https://api.example.com/v1/models/a%3Ab')).credential).toBe('key');
  });
});
