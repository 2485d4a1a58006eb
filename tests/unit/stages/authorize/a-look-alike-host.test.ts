import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'api.example.com' }, { host: '*.corp.example.com' }, { host: '*.pinned.example.com', tunnel: true }],
  credentials: [{ name: 'key', hosts: ['api.example.com', '*.corp.example.com'] }],
});

describe('a host that only looks like an allowed one is not', () => {
  test.each([
    'api.example.com.evil.test',
    'evil-api.example.com',
    'apixexample.com',
    'example.com',
    'xapi.example.com',
    'x.api.example.com',
    'corp.example.com',
    'evilcorp.example.com',
    'corp.example.com.evil.test',
    'xn--pi-7lb.example.com',
    'pinned.example.com',
    'evilpinned.example.com',
  ])('%s', (host) => {
    const inside = canonicalOf('GET', `https://${host}/`);
    expect(refusalOf(() => decide(policy, sandboxWith(), inside, new HeaderList())).code).toBe('domain.not-allowed');
    const tunnel = canonicalOf('CONNECT', `https://${host}`, 'tunnel');
    expect(refusalOf(() => decide(policy, sandboxWith(), tunnel, new HeaderList())).code).toBe('domain.not-allowed');
    const connect = decide(
      policy,
      sandboxWith(),
      canonicalOf('CONNECT', `https://${host}`, 'connect'),
      new HeaderList(),
    );
    expect(connect).toMatchObject({ tunnel: false, credential: null });
  });

  test('the real ones pass, so that the list above means something', () => {
    for (const host of ['api.example.com', 'a.corp.example.com', 'a.b.corp.example.com']) {
      expect(decide(policy, sandboxWith(), canonicalOf('GET', `https://${host}/`), new HeaderList()).credential).toBe(
        'key',
      );
    }
  });
});

describe('another port of an allowed host is another destination', () => {
  const ported = handMadePolicy({
    allow: [
      { host: 'api.example.com' },
      { host: '*.corp.example.com', ports: [8443] },
      { host: 'pinned.example.com', tunnel: true },
    ],
    credentials: [{ name: 'key', hosts: ['api.example.com', '*.corp.example.com'] }],
  });
  const ask = (url: string, kind: 'http' | 'tunnel' | 'connect' = 'http') =>
    decide(ported, sandboxWith(), canonicalOf(kind === 'http' ? 'GET' : 'CONNECT', url, kind), new HeaderList());

  test.each([
    'https://api.example.com:8443/',
    'https://api.example.com:80/',
    'https://api.example.com:4430/',
    'https://api.example.com:22/',
    'https://a.corp.example.com/',
    'https://a.corp.example.com:8444/',
  ])('%s', (url) => {
    expect(refusalOf(() => ask(url)).code).toBe('target.port');
  });

  test.each(['https://pinned.example.com:8443', 'https://pinned.example.com:80'])('%s, undecrypted', (url) => {
    expect(refusalOf(() => ask(url, 'tunnel')).code).toBe('target.port');
  });

  test('nor is one opened by CONNECT, where nothing inside it could be judged', () => {
    for (const port of [22, 25, 8443]) {
      expect(refusalOf(() => ask(`https://api.example.com:${port}`, 'connect')).code).toBe('target.port');
    }
  });

  test('its own port passes, with its credential', () => {
    expect(ask('https://api.example.com/').credential).toBe('key');
    expect(ask('https://a.corp.example.com:8443/').credential).toBe('key');
    expect(ask('https://pinned.example.com', 'tunnel').tunnel).toBe(true);
  });
});
