import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { CanonicalRequest, Permission } from '../../../../src/path/flow.ts';
import type { CompiledPolicy } from '../../../../src/policy/compiled.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [
    { host: 'api.example.com', methods: ['GET', 'POST'], paths: ['/v1/**'] },
    { host: 'api.example.com', methods: ['DELETE'], paths: ['/tmp/*'] },
    { host: 'mirror.example.com', plainHttp: true },
    { host: 'odd.example.com', ports: [8443] },
    { host: '*.wild.example.com' },
    { host: '*.pinned.example.com', tunnel: true },
    { host: 'seen.pinned.example.com' },
  ],
  credentials: [{ name: 'my-api', hosts: ['api.example.com'], paths: ['/v1/**'] }],
  blocked: { POST: ['^/v1/danger$'] },
});

function ask(
  method: string,
  url: string,
  kind: CanonicalRequest['kind'] = 'http',
  by: CompiledPolicy = policy,
): Permission {
  return decide(by, sandboxWith(), canonicalOf(method, url, kind), new HeaderList());
}

function codeOf(method: string, url: string, kind: CanonicalRequest['kind'] = 'http'): string {
  return refusalOf(() => ask(method, url, kind)).code;
}

describe('a request passes when one rule covers all of it', () => {
  test('host, method and path; the permission names the rule and the credential', () => {
    expect(ask('POST', 'https://api.example.com/v1/messages')).toEqual({
      rule: 'allow[0]',
      tunnel: false,
      credential: 'my-api',
      git: null,
      github: null,
      repository: null,
    });
    expect(ask('DELETE', 'https://api.example.com/tmp/x')).toEqual({
      rule: 'allow[1]',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
    });
  });

  test('two rules do not add up to one', () => {
    expect(codeOf('DELETE', 'https://api.example.com/v1/messages')).toBe('path.not-allowed');
    expect(codeOf('GET', 'https://api.example.com/tmp/x')).toBe('path.not-allowed');
  });

  test('a WebSocket is judged as the GET it begins with', () => {
    expect(ask('GET', 'https://api.example.com/v1/realtime', 'websocket').credential).toBe('my-api');
    expect(codeOf('GET', 'https://api.example.com/tmp/realtime', 'websocket')).toBe('path.not-allowed');
  });

  test.each([
    ['GET', 'https://other.example.com/', 'domain.not-allowed'],
    ['GET', 'https://wild.example.com/', 'domain.not-allowed'],
    ['GET', 'https://api.example.com:8443/v1/x', 'target.port'],
    ['GET', 'https://odd.example.com/', 'target.port'],
    ['GET', 'http://api.example.com/v1/x', 'domain.plain-http'],
    ['GET', 'http://api.example.com:443/v1/x', 'domain.plain-http'],
    ['PUT', 'https://api.example.com/v1/x', 'method.not-allowed'],
    ['GET', 'https://api.example.com/v2/x', 'path.not-allowed'],
    ['GET', 'https://x.pinned.example.com/', 'domain.not-allowed'],
    ['GET', 'http://mirror.example.com:8080/', 'target.port'],
    ['POST', 'https://api.example.com/v1/danger', 'policy.blocked-api'],
  ])('%s %s: %s', (method, url, code) => {
    expect(codeOf(method, url)).toBe(code);
  });

  test.each([
    ['GET', 'https://odd.example.com:8443/'],
    ['GET', 'http://mirror.example.com/debs'],
    ['GET', 'https://mirror.example.com/debs'],
    ['GET', 'https://a.b.wild.example.com/'],
  ])('%s %s passes', (method, url) => {
    expect(ask(method, url).tunnel).toBe(false);
  });
});

describe('a refusal says which rule and what to change', () => {
  test('a host that is not there: the exact lines to add', () => {
    const refusal = refusalOf(() => ask('GET', 'http://new.example.org:8080/x'));
    expect(refusal.message).toBe('new.example.org is not on the allowlist of sbx_test');
    expect(refusal.hint).toBe(
      'To allow it, add to sallyport.yaml under allow:\n  - host: new.example.org\n    plain_http: true\n    ports: [8080]\nOr ask a person for it: POST http://sallyport.internal/requests',
    );
    expect(refusalOf(() => ask('GET', 'https://new.example.org/x')).hint).toMatch(/- host: new\.example\.org\nOr ask/);
  });

  test('a method, a path and a port: what the rules allow there', () => {
    expect(refusalOf(() => ask('PUT', 'https://api.example.com/v1/x')).hint).toContain(
      'Allowed there: GET, POST, DELETE',
    );
    const path = refusalOf(() => ask('GET', 'https://api.example.com/v2/x'));
    expect(path.hint).toContain('/v1/**');
    expect(path.rule).toBe('allow[0]');
    expect(refusalOf(() => ask('GET', 'https://odd.example.com/')).hint).toContain('Allowed there: 8443');
  });

  test('a block names its line of the policy', () => {
    expect(refusalOf(() => ask('POST', 'https://api.example.com/v1/danger')).rule).toBe(
      'policy.blocked_api_patterns.POST[0]',
    );
  });
});

describe('CONNECT is answered so that the reason can be told inside', () => {
  test('a host that is not allowed may be connected to on 443 and 80, to be refused inside', () => {
    for (const port of [443, 80]) {
      expect(ask('CONNECT', `https://other.example.com:${port}`, 'connect')).toMatchObject({
        tunnel: false,
        credential: null,
      });
    }
  });

  test('another port needs a rule that names it', () => {
    expect(codeOf('CONNECT', 'https://other.example.com:22', 'connect')).toBe('domain.not-allowed');
    expect(codeOf('CONNECT', 'https://api.example.com:8443', 'connect')).toBe('target.port');
    expect(ask('CONNECT', 'https://odd.example.com:8443', 'connect')).toMatchObject({
      rule: 'allow[3]',
      tunnel: false,
    });
  });

  test('a tunnel rule means undecrypted, on its ports', () => {
    expect(ask('CONNECT', 'https://x.pinned.example.com', 'connect')).toEqual({
      rule: 'allow[5]',
      tunnel: true,
      credential: null,
      git: null,
      github: null,
      repository: null,
    });
    expect(codeOf('CONNECT', 'https://x.pinned.example.com:8443', 'connect')).toBe('target.port');
  });

  test('a rule for the exact host decides over a wildcard tunnel', () => {
    expect(ask('CONNECT', 'https://seen.pinned.example.com', 'connect')).toMatchObject({
      rule: 'allow[6]',
      tunnel: false,
    });
    expect(codeOf('CONNECT', 'https://seen.pinned.example.com', 'tunnel')).toBe('domain.not-allowed');
  });
});

describe('an undecrypted tunnel passes only under a rule that says so', () => {
  test('with the rule, without a credential', () => {
    const withCredential = handMadePolicy({
      allow: [{ host: 'pinned.example.com', tunnel: true }],
      credentials: [{ name: 'c', hosts: ['pinned.example.com'] }],
    });
    const permission = ask('CONNECT', 'https://pinned.example.com', 'tunnel', withCredential);
    expect(permission).toEqual({
      rule: 'allow[0]',
      tunnel: true,
      credential: null,
      git: null,
      github: null,
      repository: null,
    });
  });

  test.each([
    ['https://api.example.com', 'domain.not-allowed'],
    ['https://other.example.com', 'domain.not-allowed'],
    ['https://x.pinned.example.com:22', 'target.port'],
  ])('%s: %s', (url, code) => {
    expect(codeOf('CONNECT', url, 'tunnel')).toBe(code);
  });
});
