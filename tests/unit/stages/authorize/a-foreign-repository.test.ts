import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Permission } from '../../../../src/path/flow.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { githubPolicy } from '../../../support/hand-made-policy.ts';

function ask(method: string, url: string, repos: readonly string[] = ['acme/widgets']): Permission {
  return decide(githubPolicy, sandboxWith({ repos }), canonicalOf(method, url), new HeaderList());
}

describe('the injected token reads no repository but those of the sandbox', () => {
  test.each([
    ['GET', 'https://api.github.com/repos/acme/secrets'],
    ['GET', 'https://api.github.com/repos/acme/secrets/contents/.env'],
    ['GET', 'https://api.github.com/repos/acme/widgets-private'],
    ['GET', 'https://api.github.com/repos/acme/widgets.wiki'],
    ['GET', 'https://api.github.com/repos/acme/widgets.git.git'],
    ['GET', 'https://api.github.com/repos/acme/widgets;x/contents'],
    ['GET', 'https://api.github.com/repos/acme/widgets%3Fx/contents'],
    ['GET', 'https://api.github.com/%72epos/acme/secrets'],
    ['POST', 'https://api.github.com/repos/acme/secrets/issues'],
    ['GET', 'https://ghe.example.com/api/v3/repos/acme/secrets'],
    ['GET', 'https://ghe.example.com/API/V3/repos/acme/secrets'],
    ['GET', 'https://github.com/acme/secrets.git/info/refs?service=git-upload-pack'],
    ['POST', 'https://github.com/acme/secrets/git-upload-pack'],
    ['POST', 'https://github.com/acme/widgets.wiki.git/git-upload-pack'],
    ['POST', 'https://www.github.com/acme/secrets/git-upload-pack'],
    ['POST', 'https://ghe.example.com/acme/secrets.git/git-upload-pack'],
  ])('%s %s', (method, url) => {
    expect(refusalOf(() => ask(method, url)).code).toBe('repo.not-allowed');
  });

  test.each([
    ['GET', 'https://api.github.com/REPOS/acme/secrets', 'repo.operation-not-judged'],
    ['GET', 'https://api.github.com/repos/acme%2Fsecrets', 'repo.operation-not-judged'],
    ['GET', 'https://api.github.com/repos/acme/widgets%2Fx%2Fsecrets', 'repo.operation-not-judged'],
    ['GET', 'https://api.github.com/repos%2facme%2fsecrets/contents', 'repo.operation-not-judged'],
    ['GET', 'https://api.github.com/user/repos', 'github.effect'],
    ['GET', 'https://api.github.com/gists/abc', 'github.effect'],
    ['GET', 'https://api.github.com/notifications', 'github.effect'],
    ['GET', 'https://ghe.example.com/api/v4/x', 'repo.operation-not-judged'],
    ['GET', 'https://github.com/acme/secrets.git/INFO/Refs?service=git-upload-pack', 'git.not-understood'],
    ['GET', 'https://github.com/acme/widgets.git/../secrets.git/info/refs', 'malformed.path'],
    ['GET', 'https://github.com/acme/secrets.git/HEAD', 'git.dumb-http'],
    ['GET', 'https://github.com/acme/secrets.git/objects/info/packs', 'git.dumb-http'],
    ['POST', 'https://github.com/acme/secrets.git/git-receive-pack', 'repo.not-allowed'],
    ['POST', 'https://github.com/acme/secrets.git/info/lfs/objects/batch', 'repo.not-allowed'],
    ['GET', 'https://github.com/acme/secrets.git/info/lfs/door/0123456789abcdef', 'repo.not-allowed'],
  ])('%s %s: %s', (method, url, code) => {
    expect(refusalOf(() => ask(method, url)).code).toBe(code);
  });

  test.each([
    'https://github.com/acme%2Fwidgets/info/refs?service=git-upload-pack',
    'https://raw.githubusercontent.com/acme%2Fsecrets/main/x',
  ])('%s hides a slash', (url) => {
    expect(refusalOf(() => ask('GET', url)).code).toBe('path.not-allowed');
  });

  test.each([
    'https://api.github.com/orgs/acme/repos',
    'https://api.github.com/search/code?q=repo:acme/secrets',
    'https://codeload.github.com/acme/secrets/tar.gz/main',
    'https://raw.githubusercontent.com/acme/secrets/main/.env',
    'https://github.com/acme/secrets/raw/main/.env',
    'https://ghe.example.com/raw/acme/secrets/main/.env',
  ])('%s goes without the token, as anybody would', (url) => {
    expect(ask('GET', url).credential).toBeNull();
  });

  test('https://api.github.com/repositories/1234/contents/.env is not known to be one of them until GitHub was asked', () => {
    const { github, repository } = ask('GET', 'https://api.github.com/repositories/1234/contents/.env');
    expect({ id: github?.repositoryId, repository }).toEqual({ id: '1234', repository: null });
  });

  test('where public repositories may be fetched, they are, without the token, and only fetched', () => {
    const open = { ...githubPolicy, publicFetch: true };
    const may = (method: string, path: string): Permission =>
      decide(open, sandboxWith(), canonicalOf(method, `https://github.com/acme/secrets.git${path}`), new HeaderList());
    for (const [method, path] of [
      ['GET', '/info/refs?service=git-upload-pack'],
      ['POST', '/git-upload-pack'],
    ] as const) {
      expect(may(method, path)).toMatchObject({ rule: 'git.public_fetch', credential: null });
    }
    for (const [method, path] of [
      ['GET', '/info/refs?service=git-receive-pack'],
      ['POST', '/git-receive-pack'],
      ['POST', '/info/lfs/objects/batch'],
      ['GET', '/info/lfs/locks'],
    ] as const) {
      expect(refusalOf(() => may(method, path)).code, path).toBe('repo.not-allowed');
    }
  });

  test('a sandbox with no repository has none', () => {
    expect(refusalOf(() => ask('GET', 'https://api.github.com/repos/acme/widgets', [])).code).toBe('repo.not-allowed');
    expect(ask('GET', 'https://api.github.com/repos/acme/widgets').credential).toBe('github');
  });
});
