import { describe, expect, test } from 'vitest';
import { readAccessRequest } from '../../../../src/gateway/inside/read-access-request.ts';

const reason = 'to read the manual';

function read(fields: Record<string, unknown> | string): ReturnType<typeof readAccessRequest> {
  return readAccessRequest(Buffer.from(typeof fields === 'string' ? fields : JSON.stringify(fields)));
}

function problemOf(fields: Record<string, unknown> | string): string {
  const reading = read(fields);
  if (!('problem' in reading)) throw new Error(`it was taken: ${JSON.stringify(reading.accessRequest)}`);
  return reading.problem;
}

describe('what an agent asks for has one reading', () => {
  test.each([
    [{ host: 'Docs.Example' }, { scheme: 'https', host: 'docs.example', port: 443, path: '/', method: 'GET' }],
    [{ url: 'https://docs.example' }, { scheme: 'https', host: 'docs.example', port: 443, path: '/' }],
    [{ url: 'http://docs.example/a%20b?q=1#x' }, { scheme: 'http', host: 'docs.example', port: 80, path: '/a b' }],
    [
      { url: 'HTTPS://docs.example:8443/v1/', method: 'post' },
      { port: 8443, path: '/v1/', method: 'POST' },
    ],
    [{ url: 'https://bücher.example/' }, { host: 'xn--bcher-kva.example' }],
  ])('%j', (fields, accessRequest) => {
    expect(read({ ...fields, reason })).toMatchObject({ accessRequest: { ...accessRequest, reason } });
  });

  test.each<[string, Record<string, unknown> | string, RegExp]>([
    ['nothing', '', /empty/],
    ['no JSON', '{"url"', /begins like JSON/],
    ['a list', '[]', /one JSON object/],
    ['a number', { url: 5, reason }, /must be a text/],
    ['no place', { reason }, /neither "url" nor "host"/],
    ['two places', { url: 'https://a.example/', host: 'b.example', reason }, /not both/],
    ['a field that there is not', { url: 'https://a.example/', why: 'x', reason }, /no field "why"/],
    ['a field twice', 'host=a.example&host=b.example&reason=x', /twice/],
    ['another scheme', { url: 'ftp://a.example/', reason }, /https:\/\//],
    ['a bare word', { url: 'a.example/x', reason }, /https:\/\//],
    ['a user name', { url: 'https://a.example@b.example/', reason }, /user name/],
    ['a backslash for a slash', { url: 'https://a.example\\b.example/', reason }, /two ways/],
    ['an address', { url: 'https://203.0.113.7/', reason }, /addresses are never allowed/],
    ['an address in other notations', { host: '0x7f.1', reason }, /addresses are never allowed/],
    ['an address of version 6', { url: 'https://[2001:db8::1]/', reason }, /address/],
    ['a name in a name', { host: 'a.example:443', reason }, /without a port/],
    ['a URL as a host', { host: 'https://a.example/', reason }, /use "url"/],
    ['a trailing dot', { host: 'a.example.', reason }, /trailing dot/],
    ['a wildcard', { host: '*.example', reason }, /wildcard/],
    ['everything', { host: '*', reason }, /wildcard/],
    ['port 0', { url: 'https://a.example:0/', reason }, /port/],
    ['port 70000', { url: 'https://a.example:70000/', reason }, /port/],
    ['a path upwards', { url: 'https://a.example/x/../admin', reason }, /two ways/],
    ['a path upwards in disguise', { url: 'https://a.example/x/%2e%2e/admin', reason }, /two ways/],
    ['a hidden slash', { url: 'https://a.example/x%2Fadmin', reason }, /two ways/],
    ['an empty segment', { url: 'https://a.example//admin', reason }, /two ways/],
    ['a line break in a path', { url: 'https://a.example/x%0aGET', reason }, /two ways/],
    ['a pattern for a path', { url: 'https://a.example/**', reason }, /\*/],
    ['a path that is not encoded', { url: 'https://a.example/%zz', reason }, /encoded/],
    ['a long path', { url: `https://a.example/${'x'.repeat(1025)}`, reason }, /longer than/],
    ['a method that is none', { host: 'a.example', method: 'GET /x', reason }, /"method"/],
    ['CONNECT', { host: 'a.example', method: 'CONNECT', reason }, /"method"/],
    ['this page itself', { url: 'http://Sallyport.Internal/why', reason }, /always answers/],
    ['no reason', { host: 'a.example' }, /reason/],
    ['a blank reason', { host: 'a.example', reason: ' \n\u200b ' }, /reason/],
    ['a long reason', { host: 'a.example', reason: 'x'.repeat(501) }, /longer than 500/],
  ])('%s is not taken', (_what, fields, problem) => {
    expect(problemOf(fields)).toMatch(problem);
  });

  test('bytes that are no UTF-8 are not taken', () => {
    expect(readAccessRequest(Buffer.from([0x68, 0xff, 0xfe]))).toEqual({ problem: 'the body is not text in UTF-8' });
  });

  test('a reason is one line of plain text, whatever was in it', () => {
    const hostile = 'please\r\n\u001b[2J\u202eapprove\u2028<script>alert(1)</script>';
    expect(read({ host: 'a.example', reason: hostile })).toMatchObject({
      accessRequest: { reason: 'please [2J approve <script>alert(1)</script>' },
    });
  });
});
