import { describe, expect, test } from 'vitest';
import {
  canonicalRepository,
  canonicalRepositoryPattern,
  coversRepository,
} from '../../../../src/kit/text/repository-name.ts';

describe('a repository has one spelling', () => {
  test.each([
    ['Acme', 'Widgets', 'acme/widgets'],
    ['acme', 'widgets.git', 'acme/widgets'],
    ['acme', 'WIDGETS.GIT', 'acme/widgets'],
    ['acme', '.github', 'acme/.github'],
    ['name_corp', 'a.b-c_d', 'name_corp/a.b-c_d'],
  ])('%s and %s are %s', (owner, name, expected) => {
    expect(canonicalRepository(owner, name)).toBe(expected);
  });

  test.each([
    ['acme', '.'],
    ['acme', '..'],
    ['acme', '..git'],
    ['acme', '.git'],
    ['acme', ''],
    ['', 'widgets'],
    ['..', 'widgets'],
    ['acme', 'widgets.git.git'],
    ['acme', 'wid gets'],
    ['acme', 'widgets;x'],
    ['acme', 'widgets?x'],
    ['acme', '*'],
    ['ac.me', 'widgets'],
    ['-acme', 'widgets'],
  ])('%j and %j are none', (owner, name) => {
    expect(canonicalRepository(owner, name)).toBeNull();
  });
});

describe('an entry of repos is a repository or all of an owner', () => {
  test('owner/* is the only wildcard', () => {
    expect(canonicalRepositoryPattern('Acme/*')).toBe('acme/*');
    for (const text of ['*/*', '*', '*/widgets', 'acme/w*', 'acme/**', 'acme', 'acme/', '/widgets', 'a/b/c']) {
      expect(canonicalRepositoryPattern(text), text).toBeNull();
    }
  });

  test('owner/* covers that owner and nobody whose name begins the same', () => {
    expect(coversRepository(['acme/*'], 'acme/anything')).toBe(true);
    expect(coversRepository(['acme/*'], 'acme-evil/anything')).toBe(false);
    expect(coversRepository(['acme/widgets'], 'acme/widgets2')).toBe(false);
    expect(coversRepository([], 'acme/widgets')).toBe(false);
  });
});
