import { describe, expect, test } from 'vitest';
import { loadRestTable, readRestTable } from '../../../../../src/stages/authorize/github/operation-table.ts';
import { plantOperations } from '../../../../../src/stages/authorize/github/operation-trie.ts';
import { findIn, findRestOperation } from '../../../../../src/stages/authorize/github/rest-operation.ts';
import { cpuMsOf } from '../../../../support/cpu-time.ts';

const table = loadRestTable();
const repo = '/repos/acme/widgets';

/** `template effect` or `doubt template` or null. */
function found(method: string, path: string): string | null {
  const finding = findRestOperation(method, path);
  if (finding === null) return null;
  const template = finding.template.replace('/repos/{owner}/{repo}', 'REPO');
  return finding.kind === 'doubt' ? `doubt ${template}` : `${template} ${finding.effect}`;
}

function paramsOf(method: string, path: string): Record<string, string> {
  const finding = findRestOperation(method, path);
  if (finding?.kind !== 'operation') throw new Error(`${method} ${path} is no operation`);
  return Object.fromEntries(finding.params);
}

/** A path for a template, with made-up values; `inner` for the parameter that holds slashes. */
function madeUp(template: string, spans: string | null, inner: string): string {
  return template.replaceAll(/\{([\w-]+)\}/g, (_, name: string) => {
    if (name === spans) return inner;
    return table.numbers.has(name) ? '4711' : `x${name.replaceAll(/\W/g, '')}x`;
  });
}

describe('every path in the table is found as itself', () => {
  test('with made-up parameters, one segment each', () => {
    const lost = table.operations.filter(({ method, template, spans }) => {
      const finding = findRestOperation(method, madeUp(template, spans, 'one'));
      if (finding?.kind !== 'operation') return true;
      // Two spellings of a comparison are one path.
      const isSame = finding.template === template || template.endsWith('{base}...{head}');
      return !isSame || finding.method !== method;
    });
    expect(lost).toEqual([]);
  });

  test('with slashes, plain or encoded, in the parameters that may hold them', () => {
    const spanning = table.operations.filter(({ spans }) => spans !== null);
    expect(spanning.length).toBeGreaterThan(60);
    for (const { method, template, spans } of spanning) {
      for (const inner of ['one/two/three', 'One%2Ftwo%2Fthree', 'one%2Ftwo/three']) {
        const finding = findRestOperation(method, madeUp(template, spans, inner));
        expect(finding).toMatchObject({ kind: 'operation', template });
        expect(paramsOf(method, madeUp(template, spans, inner))[spans!]?.toLowerCase()).toBe('one/two/three');
      }
    }
  });

  test('under its number, every operation of a repository is the same operation', () => {
    for (const { method, template, spans, effect } of table.operations) {
      if (!template.startsWith('/repos/{owner}/{repo}')) continue;
      const path = madeUp(template.replace('/repos/{owner}/{repo}', '/repositories/99'), spans, 'one');
      const finding = findRestOperation(method, path);
      expect(finding).toMatchObject({ kind: 'operation', effect, repository: { id: '99' } });
    }
  });

  test('a path that holds slashes is never taken for something less than its particular operation', () => {
    const spanning = table.operations.filter(({ spans }) => spans !== null);
    for (const wide of spanning) {
      const before = wide.template.slice(0, wide.template.indexOf(`{${wide.spans}}`));
      for (const narrow of table.operations) {
        if (narrow === wide || narrow.method !== wide.method || narrow.effect === wide.effect) continue;
        if (!narrow.template.startsWith(before)) continue;
        const finding = findRestOperation(narrow.method, madeUp(narrow.template, narrow.spans, 'a/b'));
        expect(finding).toMatchObject({ template: narrow.template, effect: narrow.effect });
      }
    }
  });
});

describe('a path is bound to the repository it names', () => {
  test.each([
    [`${repo}/issues`, { owner: 'acme', name: 'widgets' }],
    ['/repositories/7/issues', { id: '7' }],
    ['/networks/acme/widgets/events', { owner: 'acme', name: 'widgets' }],
    ['/user/starred/acme/widgets', { owner: 'acme', name: 'widgets' }],
    ['/agents/repos/acme/widgets/tasks', { owner: 'acme', name: 'widgets' }],
    ['/orgs/acme/repos', null],
    ['/repositories', null],
    ['/', null],
  ])('%s', (path, repository) => {
    expect(findRestOperation('GET', path)).toMatchObject({ kind: 'operation', repository });
  });

  test('a template is the repository that is copied', () => {
    expect(findRestOperation('POST', `${repo}/generate`)).toMatchObject({
      effect: 'create-repository',
      repository: { owner: 'acme', name: 'widgets' },
    });
  });

  test.each(['/repos/acme%2Fwidgets/issues', '/repos/acme/widgets%2Fissues', '/repos/a%2Fb/contents/contents/x'])(
    'a slash hidden in its name is a doubt: %s',
    (path) => {
      expect(found('GET', path)).toMatch(/^doubt /);
    },
  );
});

describe('one operation for one path', () => {
  test.each([
    ['HEAD', repo, 'REPO read'],
    ['GET', `${repo}/`, 'REPO read'],
    ['GET', `${repo}/releases/latest`, 'REPO/releases/latest read'],
    ['GET', `${repo}/contents`, 'REPO/contents read'],
    ['GET', `${repo}/contents/`, 'REPO/contents read'],
    ['GET', `${repo}/contents/releases/merge`, 'REPO/contents/{path} read'],
    ['GET', `${repo}/branches/a`, 'REPO/branches/{branch} read'],
    ['GET', `${repo}/branches/a/protection`, 'REPO/branches/{branch}/protection read-sensitive'],
    ['DELETE', `${repo}/branches/a/b/protection`, 'REPO/branches/{branch}/protection protection'],
    ['POST', `${repo}/branches/a%2Fb/rename`, 'REPO/branches/{branch}/rename push'],
    ['GET', `${repo}/commits/a/b/status`, 'REPO/commits/{ref}/status read'],
    ['GET', `${repo}/compare/main...feature/x`, 'REPO/compare/{basehead} read'],
    ['GET', `${repo}/rel%65ases`, 'REPO/releases read'],
    ['DELETE', `${repo}/labels/kind%2Fbug`, 'REPO/labels/{name} issue'],
    ['GET', '/organizations/5/team/6/members', '/orgs/{org}/teams/{team_slug}/members read-account'],
    ['GET', '/user/5/repos', '/users/{username}/repos read-public'],
  ])('%s %s is %s', (method, path, expected) => {
    expect(found(method, path)).toBe(expected);
  });

  test.each([
    ['POST', repo],
    ['POST', `${repo}/git/refs/heads/main`],
    ['OPTIONS', repo],
    ['get', repo],
    ['PUT', `${repo}/pulls/7/merge/now`],
    ['PUT', `${repo}/pulls/7`],
    ['GET', '/repos/acme'],
    ['GET', 'repos/acme/widgets'],
    ['GET', '//repos/acme/widgets'],
    ['GET', `${repo}//issues`],
    ['GET', `${repo}/contents/../../other`],
    ['GET', `${repo}/contents/%2e%2e%2Fother`],
    ['GET', `${repo}/contents/a%5Cb`],
    ['GET', `${repo}/contents/%ff`],
    ['GET', ''],
    ['POST', '/graphql'],
  ])('%s %s is none', (method, path) => {
    expect(found(method, path)).toBeNull();
  });

  test('the values are decoded once', () => {
    expect(paramsOf('PUT', `${repo}/contents/.github%2Fworkflows/ci%20x.yml`)).toEqual({
      owner: 'acme',
      repo: 'widgets',
      path: '.github/workflows/ci x.yml',
    });
    expect(findRestOperation('PATCH', `${repo}/git/refs/heads/a%2Fb`)).toMatchObject({
      params: new Map([
        ['owner', 'acme'],
        ['repo', 'widgets'],
        ['ref', 'heads/a/b'],
      ]),
    });
  });
});

describe('what a server could read as another operation is a doubt', () => {
  test.each([
    ['case', 'GET', '/Repos/acme/widgets', 'REPO'],
    ['case', 'PUT', `${repo}/pulls/7/MERGE`, 'REPO/pulls/{pull_number}/merge'],
    ['case', 'GET', `${repo}/branches/a/Protection`, 'REPO/branches/{branch}/protection'],
    ['case', 'GET', '/gists/PUBLIC', '/gists/public'],
    ['case of a letter that folds to ASCII', 'GET', `${repo}/hoo%E2%84%AAs`, 'REPO/hooks'],
    ['slash', 'DELETE', `${repo}/issues/comments%2F5`, 'REPO/issues/comments/{comment_id}'],
    ['slash', 'GET', `${repo}/branches/a%2Fprotection`, 'REPO/branches/{branch}/protection'],
    ['slash and case', 'GET', `${repo}/branches/a%2fPROTECTION`, 'REPO/branches/{branch}/protection'],
    ['semicolon', 'PUT', `${repo}/pulls/7/merge;x`, 'REPO/pulls/{pull_number}/merge'],
    ['semicolon', 'GET', `${repo}/branches/a/protection;x=1`, 'REPO/branches/{branch}/protection'],
    ['semicolon', 'PUT', `${repo}/contents/.github;x/workflows/ci.yml`, 'REPO/contents/{path}'],
    ['number', 'GET', `${repo}/hooks/5x`, 'REPO/hooks/{hook_id}'],
    ['number', 'GET', `${repo}/keys/+5`, 'REPO/keys/{key_id}'],
    ['number and case', 'PUT', `${repo}/pulls/7x/MERGE`, 'REPO/pulls/{pull_number}/merge'],
    ['number', 'GET', '/repositories/7x/contents/a', 'REPO/contents/{path}'],
  ])('%s: %s %s', (_, method, path, template) => {
    expect(found(method, path)).toBe(`doubt ${template}`);
  });

  test('it says how', () => {
    const finding = findRestOperation('PUT', `${repo}/pulls/7/MERGE`);
    expect(finding).toMatchObject({
      effect: 'merge',
      why: 'reads as PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge when upper and lower case are taken as one',
    });
  });

  test('capitals in a name are none', () => {
    expect(found('GET', '/repos/Acme/Widgets/contents/README.md')).toBe('REPO/contents/{path} read');
    expect(found('GET', '/orgs/Acme/projectsV2')).toBe('/orgs/{org}/projectsV2 read-account');
  });
});

test('a hostile path costs no more than its length', async () => {
  const trie = plantOperations(
    readRestTable('GET /a/{+b}/c read-public\nGET /a/{+b}/c/d read-public\nGET /a/{+b} read-public', 'rest.txt'),
  );
  const path = `/a${'/c'.repeat(4000)}/%2F;A`;
  const spentMs = await cpuMsOf(() => {
    for (let count = 0; count < 10; count++) findIn(trie, 'GET', path);
    findRestOperation('GET', `${repo}/branches${'/protection'.repeat(2000)}/x;Y`);
  });
  expect(spentMs).toBeLessThan(2000);
});
