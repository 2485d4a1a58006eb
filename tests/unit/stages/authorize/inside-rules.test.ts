import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { CanonicalRequest, Permission } from '../../../../src/path/flow.ts';
import { anyHost } from '../../../../src/policy/host-pattern.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const nothing = handMadePolicy({});
// As a rule for `*`, a credential of everybody and a tunnel would have it, were they asked.
const made = handMadePolicy({ allow: [{ host: 'x.example', tunnel: true, ask: true }] });
const everything = { ...made, rulesFor: () => made.allow.map((rule) => ({ ...rule, host: anyHost })) };

function ask(method: string, url: string, kind?: CanonicalRequest['kind'], policy = nothing): Permission {
  return decide(policy, sandboxWith(), canonicalOf(method, url, kind), new HeaderList());
}

describe('the door answers for its own name, whatever the policy says', () => {
  test.each([
    ['GET', 'http://sallyport.internal/', 'http'],
    ['GET', 'https://sallyport.internal/why', 'http'],
    ['POST', 'http://sallyport.internal/requests', 'http'],
    ['DELETE', 'http://sallyport.internal/anything', 'http'],
    ['GET', 'http://sallyport.internal/', 'websocket'],
    ['CONNECT', 'https://sallyport.internal/', 'connect'],
    ['CONNECT', 'https://sallyport.internal:80/', 'connect'],
    ['DNS', 'https://sallyport.internal/AAAA', 'lookup'],
  ] as const)('%s %s (%s) is answered inside, with no credential', (method, url, kind) => {
    for (const policy of [nothing, everything]) {
      expect(ask(method, url, kind, policy)).toEqual({
        rule: 'built-in: sallyport.internal is the gateway itself',
        tunnel: false,
        credential: null,
        git: null,
        github: null,
        repository: null,
        inside: true,
      });
    }
  });

  test.each([
    ['GET', 'http://sallyport.internal:8080/', 'http', 'target.port'],
    ['CONNECT', 'https://sallyport.internal:22/', 'connect', 'target.port'],
    ['CONNECT', 'https://sallyport.internal/', 'tunnel', 'domain.not-allowed'],
    ['DNS', 'https://sallyport.internal/TXT', 'lookup', 'method.not-allowed'],
  ] as const)('%s %s (%s) is %s', (method, url, kind, code) => {
    for (const policy of [nothing, everything]) {
      expect(refusalOf(() => ask(method, url, kind, policy)).code).toBe(code);
    }
  });

  test.each(['door.sallyport.internal', 'xsallyport.internal', 'sallyport.internal.example', 'sallyport.inter'])(
    '%s is a host like any other',
    (host) => {
      expect(refusalOf(() => ask('GET', `https://${host}/`)).code).toBe('domain.not-allowed');
    },
  );
});
