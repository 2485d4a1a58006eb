import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Permission } from '../../../../src/path/flow.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({ allow: [{ host: 'api.example.com' }] });
// RFC 8484 4.1.1: the example query for www.example.com.
const query = 'AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB';
const withId = Buffer.concat([Buffer.from([0xbe, 0xef]), Buffer.from(query, 'base64url').subarray(2)]).toString(
  'base64url',
);

function ask(method: string, path: string, fields: readonly (readonly [string, string])[] = []): Permission {
  return decide(policy, sandboxWith(), canonicalOf(method, `https://api.example.com${path}`), HeaderList.from(fields));
}

describe('DNS over HTTPS does not pass, even to an allowed host', () => {
  test.each([
    ['Content-Type', 'application/dns-message'],
    ['content-type', 'Application/DNS-Message; charset=x'],
    ['Accept', 'application/dns-message'],
    ['Accept', 'text/html, application/dns-json;q=0.9'],
    ['Content-Type', 'application/dns-udpwireformat'],
    ['Content-Type', 'application/oblivious-dns-message'],
    ['Accept', 'application/dns+json'],
  ])('%s: %s', (name, value) => {
    expect(refusalOf(() => ask('POST', '/anything', [[name, value]])).code).toBe('policy.dns-over-https');
  });

  test('a second Accept field is read too', () => {
    const fields = [
      ['Accept', '*/*'],
      ['Accept', 'application/dns-json'],
    ] as const;
    expect(refusalOf(() => ask('GET', '/x', fields)).code).toBe('policy.dns-over-https');
  });

  test.each([
    '/dns-query',
    '/DNS-Query',
    '/dns-query/',
    '/some/where/dns-query?x=1',
    '/dns%2Dquery',
    '/resolve?name=secret.evil.test',
    '/resolve?type=TXT&name=secret.evil.test',
    '/resolve?n%61me=secret.evil.test',
    '/resolve/?name=x',
    `/anything?dns=${query}`,
    `/anything?dns=${withId}`,
    `/anything?d%6Es=${query}`,
    '/anything?ct=application/dns-json&q=x',
    '/anything?ct=application%2Fdns-message',
  ])('%s', (path) => {
    expect(refusalOf(() => ask('GET', path)).code).toBe('policy.dns-over-https');
  });

  test.each([
    '/v1/messages',
    '/resolve',
    '/resolve?id=7',
    '/datasets/x/resolve/main/file?name=a',
    '/zones?dns=true',
    '/zones?dns=example.com',
    '/search?q=100%25',
    '/dns-query-log',
  ])('%s is something else and passes', (path) => {
    expect(ask('GET', path, [['Accept', 'application/json']]).rule).toBe('allow[0]');
  });
});
