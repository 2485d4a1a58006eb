import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { policyOf } from '../../policy/pretend-machine.ts';

const host = 'work.s3.eu-west-1.amazonaws.com';
const policy = await policyOf(`version: 1
allow:
  - { host: ${host}, paths: ["/open/**"] }
  - { host: notes.s3.eu-west-1.amazonaws.com, methods: [GET] }
  - { host: drop.s3.eu-west-1.amazonaws.com, methods: [PUT] }
  - { host: s3.eu-west-1.amazonaws.com, paths: ["/shared/**"] }
  - { host: api.example.com }
credentials: { aws: { source: { file: /run/secrets/aws } } }
`);

const decided = (url: string, headers: readonly (readonly [string, string])[]): unknown =>
  decide(policy, sandboxWith(), canonicalOf('PUT', url), HeaderList.from(headers));
const copied = (source: string, url = `https://${host}/open/copy`): unknown =>
  decided(url, [['x-amz-copy-source', source]]);

describe('a copy within S3 reads nothing that could not be read by itself', () => {
  test.each([
    ['a bucket that no rule names', '/private/key', 'domain.not-allowed'],
    ['the same, without a slash', 'private/key', 'domain.not-allowed'],
    ['the same, its slash encoded', 'private%2Fkey', 'domain.not-allowed'],
    ['the same, in some version', 'private/key?versionId=1', 'domain.not-allowed'],
    ['a folder that no rule names', 'work/closed/key', 'path.not-allowed'],
    ['a bucket that is only written', 'drop/key', 'method.not-allowed'],
    ['dots', 'work/open/../closed/key', 'malformed.path'],
    ['dots, encoded', 'work/open/%2E%2E/closed/key', 'malformed.path'],
    ['encoded twice', 'work/open/%252E%252E/closed/key', 'malformed.path'],
    ['an access point', 'arn:aws:s3:eu-west-1:123456789012:accesspoint/a/object/k', 'malformed.path'],
    ['a query that is none', 'work/open/a?b', 'malformed.path'],
    ['nothing', '', 'malformed.path'],
    ['half of an escape', 'work/open/%E0', 'malformed.path'],
  ])('%s', (_, source, code) => {
    expect(refusalOf(() => copied(source)).code).toBe(code);
  });

  test('by whatever address the copy goes, and however it is said', () => {
    expect(refusalOf(() => copied('private/key', 'https://s3.eu-west-1.amazonaws.com/shared/copy')).code).toBe(
      'domain.not-allowed',
    );
    expect(refusalOf(() => decided(`https://${host}/open/a?x-amz-%63opy-source=private/key`, [])).code).toBe(
      'domain.not-allowed',
    );
    const twice = ['work/open/a', 'private/key'].map((source) => ['X-Amz-Copy-Source', source] as const);
    expect(refusalOf(() => decided(`https://${host}/open/copy`, twice)).hint).toContain('- host: private.s3.eu-west-1');
  });

  test.each(['work/open/a%20b', '/work/open/a?versionId=3', 'notes/any/thing', 'shared/thing'])(
    'what may be read is copied: %s',
    (source) => {
      expect(copied(source)).toMatchObject({ credential: 'aws' });
    },
  );

  test('elsewhere the field means nothing', () => {
    expect(copied('private/key', 'https://api.example.com/x')).toMatchObject({ rule: 'allow[4]' });
  });
});
