import { describe, expect, test } from 'vitest';
import { defaultEffects } from '../../../src/path/github-effects.ts';
import { permissionsFor } from '../../../src/policy/app-permissions.ts';

describe('an App is asked for no more than the allowed effects can use', () => {
  test('the default effects write contents, issues and pull requests, and read the rest', () => {
    expect(permissionsFor(defaultEffects)).toEqual({
      metadata: 'read',
      contents: 'write',
      issues: 'write',
      pull_requests: 'write',
      actions: 'read',
      checks: 'read',
      statuses: 'read',
    });
  });

  test('an effect that is blocked is not asked for, one that is allowed is', () => {
    const changed = permissionsFor([...defaultEffects.filter((effect) => effect !== 'issue'), 'deployment']);
    expect(changed).toMatchObject({ issues: 'read', deployments: 'write' });
  });

  test('nothing allowed leaves reading', () => {
    expect(new Set(Object.values(permissionsFor([])))).toEqual(new Set(['read']));
  });
});
