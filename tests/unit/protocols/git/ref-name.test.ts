import { describe, expect, test } from 'vitest';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { decodeText, isObjectId, isRefName } from '../../../../src/protocols/git/ref-name.ts';

describe('names on the wire have one form', () => {
  test.each(['refs/heads/main', 'refs/heads/a/b.c', 'refs/tags/v1.0', 'refs/heads/@', 'refs/heads/é', 'a/b'])(
    '%s is the name of a ref',
    (name) => {
      expect(isRefName(name)).toBe(true);
    },
  );

  test.each([
    'main',
    '@',
    '',
    '/',
    'refs/heads/',
    '/refs/heads/a',
    'refs//a',
    'refs/heads/.a',
    'refs/heads/a.',
    'refs/heads/a.lock',
    'refs/a.lock/b',
    'refs/heads/a..b',
    'refs/heads/a@{b',
    'refs/heads/a b',
    'refs/heads/a~b',
    'refs/heads/a^b',
    'refs/heads/a:b',
    'refs/heads/a?',
    'refs/heads/*',
    'refs/heads/[',
    'refs/heads/a\\b',
    'refs/heads/a\x7f',
    'refs/heads/a\n',
  ])('%j is not', (name) => {
    expect(isRefName(name)).toBe(false);
  });

  test('an object id is forty digits in lower case', () => {
    expect(isObjectId('0123456789abcdef0123456789abcdef01234567')).toBe(true);
    for (const id of ['A'.repeat(40), 'a'.repeat(39), 'a'.repeat(64), `${'a'.repeat(40)}\n`, 'g'.repeat(40)]) {
      expect(isObjectId(id)).toBe(false);
    }
  });

  test('text keeps every byte or is refused', () => {
    expect(decodeText(Buffer.from('\ufeffé'), 'it')).toBe('\ufeffé');
    expect(() => decodeText(Buffer.from([0xff]), 'it')).toThrow(GitWireError);
    expect(() => decodeText(Buffer.from('a\0'), 'it')).toThrow(GitWireError);
  });
});
