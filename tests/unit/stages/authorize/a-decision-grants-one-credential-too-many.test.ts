import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Sandbox } from '../../../../src/path/sandbox.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'api.example.com', plainHttp: true }, { host: '*.example.com' }],
  credentials: [{ name: 'key', hosts: ['api.example.com'], paths: ['/v1/**'] }],
});

function credentialFor(url: string, over: Partial<Sandbox> = {}): string | null {
  return decide(policy, sandboxWith(over), canonicalOf('GET', url), new HeaderList()).credential;
}

describe('a request that may pass does not carry a credential it has no right to', () => {
  test('its own host and path, and nothing else, have it', () => {
    expect(credentialFor('https://api.example.com/v1/messages')).toBe('key');
    expect(credentialFor('https://api.example.com/api/telemetry')).toBeNull();
    expect(credentialFor('https://api.example.com/v1beta/x')).toBeNull();
    expect(credentialFor('https://other.example.com/v1/messages')).toBeNull();
    expect(credentialFor('https://x.api.example.com/v1/messages')).toBeNull();
  });

  test('never over plain http', () => {
    expect(credentialFor('http://api.example.com/v1/messages')).toBeNull();
    expect(credentialFor('http://api.example.com:443/v1/messages')).toBeNull();
  });

  test('not for a sandbox that was not registered for it', () => {
    expect(credentialFor('https://api.example.com/v1/messages', { credentials: [] })).toBeNull();
    expect(credentialFor('https://api.example.com/v1/messages', { credentials: ['another'] })).toBeNull();
  });
});
