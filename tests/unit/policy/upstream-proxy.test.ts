// `upstream.proxy` as it stands in the document, and as the usual variables say it.
import { describe, expect, test } from 'vitest';
import { systemProxy } from '../../../src/policy/schema/proxy-schema.ts';
import { errorsOf, policyOf } from './pretend-machine.ts';

const written = (proxy: string): string =>
  `version: 1\nallow: [{host: api.example.com}]\nupstream:\n  proxy: ${proxy}\n`;

describe('in the document', () => {
  test.each([
    ['http://proxy.example:3128', { host: 'proxy.example', port: 3128, byName: false, except: [], login: null }],
    ['{url: "http://[2001:db8::1]", connect: name}', { host: '2001:db8::1', port: 80, byName: true }],
    [
      '{url: "http://proxy.example:3128", username: me, password: {file: /p}}',
      { login: { kind: 'own', username: 'me', password: { kind: 'file', path: '/p' } } },
    ],
  ])('%s', async (proxy, compiled) => {
    expect((await policyOf(written(proxy))).upstream.proxy).toMatchObject(compiled);
  });

  test.each([
    ['https://proxy.example', 'only plain http://'],
    ['"http://me:secret@proxy.example"', 'no user name or password in this address'],
    ['http://proxy.example/x', 'alone'],
    ['{url: "http://proxy.example", username: me}', 'a login has both'],
    ['{url: "http://proxy.example", password: {file: /p}}', 'a login has both'],
    ['{url: "http://proxy.example", username: me, password: secret}', 'a secret is never written into this file'],
    ['{url: "http://proxy.example", connect: names}', 'write address, or name'],
    ['{url: "http://proxy.example", via: x}', 'unknown key'],
    ['[a]', 'write a map'],
  ])('%s is an error with its place', async (proxy, message) => {
    const errors = await errorsOf(written(proxy));
    expect(errors.map((error) => error.message).join('\n')).toContain(message);
    expect(errors[0]!.line).toBe(4);
    expect(errors[0]!.path).toMatch(/^upstream\.proxy/);
    expect(JSON.stringify(errors)).not.toContain('me:secret');
  });
});

describe('the usual variables', () => {
  test('name the proxy, lower case first, and what goes without it', () => {
    const env = {
      HTTPS_PROXY: 'http://b.example:1',
      https_proxy: 'a.example:3128',
      NO_PROXY: '10.0.0.0/8,.corp.example',
    };
    const proxy = systemProxy(env) as Exclude<ReturnType<typeof systemProxy>, string | null>;
    expect(proxy).toMatchObject({ host: 'a.example', port: 3128, byName: false, login: null });
    const isException = (host: string): boolean => proxy.except.some((pattern) => pattern.covers(host));
    expect(['corp.example', 'a.b.corp.example', 'acorp.example', 'corp.example.com'].map(isException)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('may hold a login, which stays where it is', () => {
    const proxy = systemProxy({ ALL_PROXY: 'http://me:p%40ss@a.example:3128' });
    expect(proxy).toMatchObject({ login: { kind: 'variable', variable: 'ALL_PROXY' } });
    expect(JSON.stringify(proxy)).not.toContain('p%40ss');
  });

  test('may name none, or switch it off', () => {
    expect(systemProxy({})).toBeNull();
    expect(systemProxy({ https_proxy: '' })).toBeNull();
    expect(systemProxy({ https_proxy: 'http://a.example:1', no_proxy: '*' })).toBeNull();
  });

  test('that cannot be followed are an error without what they hold', () => {
    expect(systemProxy({ https_proxy: 'socks5://me:secret@a.example' })).toBe(
      'the variable https_proxy cannot be followed: only plain http:// proxies are spoken to: write http://host:port',
    );
  });
});
