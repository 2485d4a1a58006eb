import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import { decide } from '../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../support/hand-made-flow.ts';
import { githubPolicy } from '../../support/hand-made-policy.ts';
import { enterpriseHost, type GithubAttackGround, openGithubGround } from './github-attack-ground.ts';

const policy = { ...githubPolicy, blockedApiPatterns: new Map() };

function codeOf(method: string, url: string): string {
  return refusalOf(() => decide(policy, sandboxWith(), canonicalOf(method, url), new HeaderList())).code;
}

/** Spellings of one path that some server could take for it. */
const spellings: readonly [name: string, spell: (path: string) => string][] = [
  ['an empty segment', (path) => path.replace(/\/([^/]+)$/, '//$1')],
  ['an empty segment at the front', (path) => `/${path}`],
  ['two slashes at the end', (path) => `${path}//`],
  ['a slash at the end', (path) => `${path}/`],
  ['a dot segment', (path) => path.replace(/\/([^/]+)$/, '/./$1')],
  ['an encoded dot segment', (path) => path.replace(/\/([^/]+)$/, '/%2e/$1')],
  ['a way up', (path) => path.replace(/\/([^/]+)$/, '/x/../$1')],
  ['an encoded way up', (path) => path.replace(/\/([^/]+)$/, '/x/%2e%2E/$1')],
  ['a half encoded way up', (path) => path.replace(/\/([^/]+)$/, '/x/.%2e/$1')],
  ['a way up with a parameter', (path) => path.replace(/\/([^/]+)$/, '/x/..;/$1')],
  ['an encoded slash', (path) => path.replace(/\/([^/]+)$/, '%2F$1')],
  ['an encoded slash at the end', (path) => `${path}%2f`],
  ['a backslash', (path) => path.replace(/\/([^/]+)$/, '\\$1')],
  ['an encoded backslash', (path) => path.replace(/\/([^/]+)$/, '%5c$1')],
  ['a parameter', (path) => `${path};x=1`],
  ['an encoded parameter', (path) => `${path}%3Bx`],
  ['capitals', (path) => path.replace(/\/([^/]+)$/, (_, last: string) => `/${last.toUpperCase()}`)],
  ['capitals at the front', (path) => path.replace('/repos/', '/Repos/')],
  ['an encoded letter', (path) => path.replace(/\/(\w)([^/]*)$/, (_, a: string, b: string) => `/%${hex(a)}${b}`)],
  [
    'an encoded capital',
    (path) => path.replace(/\/(\w)([^/]*)$/, (_, a: string, b: string) => `/%${hex(a.toUpperCase())}${b}`),
  ],
  ['an encoded letter at the front', (path) => path.replace('/repos', '/%72epos')],
  ['an encoded letter of the owner', (path) => path.replace('/acme/', '/%61cme/')],
  ['a letter encoded twice', (path) => path.replace('/repos', '/%2572epos')],
  ['a NUL', (path) => `${path}%00`],
  ['a line feed', (path) => `${path}%0a`],
];

function hex(letter: string): string {
  return letter.charCodeAt(0).toString(16);
}

const forbidden: readonly [method: string, path: string][] = [
  ['PUT', '/repos/acme/widgets/pulls/7/merge'],
  ['POST', '/repos/acme/widgets/releases'],
  ['DELETE', '/repos/acme/widgets'],
  ['POST', '/repos/acme/widgets/hooks'],
  ['PUT', '/repos/acme/widgets/actions/secrets/X'],
  ['PUT', '/repos/acme/widgets/branches/main/protection'],
  ['POST', '/repos/acme/widgets/keys'],
  ['POST', '/repos/acme/widgets/dispatches'],
  // Reads that show what helps an attacker.
  ['GET', '/repos/acme/widgets/hooks'],
  ['GET', '/repos/acme/widgets/collaborators'],
  ['GET', '/repos/acme/widgets/keys'],
  ['GET', '/repos/acme/widgets/secret-scanning/alerts'],
  ['GET', '/repos/acme/widgets/actions/secrets'],
  ['GET', '/repos/acme/secrets/contents/README.md'],
  ['GET', '/user/repos'],
];

describe('no other spelling of a path makes a forbidden call', () => {
  test.each(spellings)('%s', (_, spell) => {
    for (const [method, path] of forbidden) {
      for (const base of ['https://api.github.com', 'https://ghe.example.com/api/v3', 'https://ghe.example.com/api']) {
        const url = `${base}${spell(path)}`;
        expect([method, url, codeOf(method, url)]).toEqual([
          method,
          url,
          expect.stringMatching(/^(?:github\.effect|repo\.(?:not-allowed|operation-not-judged)|malformed\.path)$/),
        ]);
      }
    }
  });

  test.each([
    '/%61pi/v3',
    '/ap%69/v3',
    '/api/%763',
    '/api/v%33',
    '/API/v3',
    '/Api/V3',
    '/%41PI/v3',
    '/%61pi',
    '/ap%69/uploads',
  ])('nor another spelling of the prefix on an Enterprise host: %s', (prefix) => {
    for (const [method, path] of forbidden) {
      const url = `https://ghe.example.com${prefix}${path}`;
      expect([method, url, codeOf(method, url)]).toEqual([
        method,
        url,
        expect.stringMatching(/^(?:github\.effect|repo\.(?:not-allowed|operation-not-judged)|malformed\.path)$/),
      ]);
    }
  });

  test.each(['/api%2Fv3', '/api/v3;x', '/api;x/v3', '/x/../api/v3', '/api/v4', '/api/v3/api/v3'])(
    'nor something that could be the prefix: %s',
    (prefix) => {
      for (const [method, path] of forbidden) {
        const url = `https://ghe.example.com${prefix}${path}`;
        const outcome = (() => {
          try {
            return decide(policy, sandboxWith(), canonicalOf(method, url), new HeaderList()).credential;
          } catch {
            return null;
          }
        })();
        expect([url, outcome]).toEqual([url, null]);
      }
    },
  );

  test.each(['7x', '7.0', '0x7', '%37', '+7', '7%20', '٧'])('nor a number written %s', (number) => {
    const url = `https://api.github.com/repos/acme/widgets/pulls/${encodeURI(number).replace('%25', '%')}/merge`;
    expect(codeOf('PUT', url)).toMatch(/^(?:github\.effect|repo\.operation-not-judged)$/);
  });

  test('so that it means something: the calls as they are written are known, and refused for what they do', () => {
    for (const [method, path] of forbidden.slice(0, -2)) {
      expect(codeOf(method, `https://api.github.com${path}`)).toBe('github.effect');
    }
  });
});

describe('through the whole gateway', () => {
  let ground: GithubAttackGround;
  beforeAll(async () => {
    ground = await openGithubGround();
  });
  afterAll(() => ground.stop());

  test.each([
    '/repos/acme/widgets/pulls/7/m%65rge',
    '/repos/acme/widgets/pulls/7/MERGE',
    '/repos/acme/widgets/pulls/7/merge/',
    '/repos/acme/widgets/pulls/7//merge',
    '/repos/acme/widgets/pulls/7/%2e/merge',
    '/repos/acme/widgets/pulls/7/merge;x',
    '/repos/acme/widgets/pulls/7%2Fmerge',
    '/repos/acme/widgets/pulls/7\\merge',
    'https://api.github.com/repos/acme/widgets/pulls/7/merge',
  ])('PUT %s does not arrive', async (target) => {
    await ground.expectRefused(
      { method: 'PUT', target, body: {} },
      /^(?:github\.|repo\.|malformed\.|policy\.blocked-api)/,
    );
  });

  test('the token of one host does not go to the other', async () => {
    const seen = await ground.expectPassed({
      method: 'GET',
      host: enterpriseHost,
      target: '/api/v3/repos/acme/widgets',
    });
    expect(JSON.stringify(seen.headers)).not.toContain('ghp_real');
  });
});
