import { describe, expect, test } from 'vitest';
import { readProxyAuthorization } from '../../../../src/stages/identify/identify-caller.ts';
import { basic } from '../../../support/hand-made-flow.ts';

describe('Proxy-Authorization carries a secret in two forms', () => {
  test.each([
    [basic('one', 's3cret'), { claimedId: 'one', secret: 's3cret' }],
    [basic('sandbox', 's3cret'), { claimedId: null, secret: 's3cret' }],
    [basic('', 's3cret'), { claimedId: null, secret: 's3cret' }],
    [basic('one', 'a:b'), { claimedId: 'one', secret: 'a:b' }],
    ['bearer s3cret', { claimedId: null, secret: 's3cret' }],
    [basic('one', 's3cret').replace('Basic', 'BASIC'), { claimedId: 'one', secret: 's3cret' }],
  ])('%s', (value, expected) => {
    expect(readProxyAuthorization(value)).toEqual(expected);
  });

  test.each([
    '',
    'Basic',
    'Basic !!!',
    `Basic ${Buffer.from('no colon').toString('base64')}`,
    'Digest username="x"',
    'Negotiate abc',
    `Bearer ${'a'.repeat(600)}`,
    'Bearer two words',
  ])('%j is neither', (value) => {
    expect(readProxyAuthorization(value)).toBeNull();
  });
});
