import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../../../src/path/sandbox.ts';
import { chooseCredential } from '../../../../src/stages/authorize/credential-choice.ts';
import { canonicalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  credentials: [
    { name: 'narrow', hosts: ['api.example.com'], paths: ['/v1/**'] },
    { name: 'wide', hosts: ['*.example.com'] },
  ],
});

function choose(url: string, over: Partial<Sandbox> = {}): string | null {
  return chooseCredential(policy, sandboxWith(over), canonicalOf('GET', url));
}

describe('a request gets the credential of its host and path', () => {
  test('the first in the document when several could go', () => {
    expect(choose('https://api.example.com/v1/x')).toBe('narrow');
    expect(choose('https://api.example.com/telemetry')).toBe('wide');
    expect(choose('https://www.example.com/')).toBe('wide');
    expect(choose('https://example.com/')).toBeNull();
  });

  test('only one that the sandbox may use', () => {
    expect(choose('https://api.example.com/v1/x', { credentials: ['wide'] })).toBe('wide');
    expect(choose('https://api.example.com/v1/x', { credentials: [] })).toBeNull();
  });

  test('only a place of which host and path both fit: two places do not add up to one', () => {
    const parts = handMadePolicy({
      credentials: [
        { name: 'one', hosts: ['a.example.com'], paths: ['/a/**'] },
        { name: 'two', hosts: ['b.example.com'], paths: ['/b/**'] },
      ],
    });
    const [one, two] = [...parts.credentials.values()];
    const both = { ...one!, placements: [...one!.placements, ...two!.placements] };
    const twoPlaces = { ...parts, credentialsFor: () => [both] };
    const chosen = (url: string): string | null => chooseCredential(twoPlaces, sandboxWith(), canonicalOf('GET', url));
    expect(chosen('https://a.example.com/a/x')).toBe('one');
    expect(chosen('https://b.example.com/b/x')).toBe('one');
    expect(chosen('https://a.example.com/b/x')).toBeNull();
    expect(chosen('https://b.example.com/a/x')).toBeNull();
  });

  test('none over plain http', () => {
    expect(choose('http://api.example.com/v1/x')).toBeNull();
  });

  test('none into a tunnel', () => {
    for (const kind of ['connect', 'tunnel'] as const) {
      expect(
        chooseCredential(policy, sandboxWith(), canonicalOf('CONNECT', 'https://api.example.com/v1/x', kind)),
      ).toBeNull();
    }
  });
});
