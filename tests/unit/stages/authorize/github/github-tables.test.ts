import { describe, expect, test } from 'vitest';
import { defaultEffects, type GithubEffect } from '../../../../../src/path/github-effects.ts';
import {
  loadGraphqlTable,
  loadRestTable,
  readGraphqlTable,
  readRestTable,
} from '../../../../../src/stages/authorize/github/operation-table.ts';
import { plantOperations } from '../../../../../src/stages/authorize/github/operation-trie.ts';

const rest = loadRestTable().operations;
const graphql = loadGraphqlTable();
const repo = '/repos/{owner}/{repo}';

function allowedByDefault(effect: GithubEffect): boolean {
  return defaultEffects.includes(effect);
}

function named({ method, template }: { method: string; template: string }): string {
  return `${method} ${template.replace(repo, 'REPO')}`;
}

describe('every operation of GitHub has one effect', () => {
  // Counts of what GitHub described at the last refresh, and of what was added by hand: a lost line is seen here.
  test('the tables are whole', () => {
    expect(rest).toHaveLength(1223 + 40);
    expect(rest.filter(({ method }) => method !== 'GET')).toHaveLength(584 + 22);
    expect(graphql.mutations.size).toBe(247);
    expect(graphql.queries.size).toBe(31);
  });

  test.each([
    ['PUT', `${repo}/pulls/{pull_number}/merge`, 'merge'],
    ['PUT', `${repo}/pulls/{pull_number}/merge-async`, 'merge'],
    ['PUT', `${repo}/pulls/{pull_number}/reviews/{review_id}/dismissals`, 'approve'],
    ['POST', `${repo}/pulls/{pull_number}/reviews`, 'review'],
    ['PUT', `${repo}/contents/{path}`, 'push'],
    ['PATCH', `${repo}/git/refs/{ref}`, 'push'],
    ['POST', `${repo}/merges`, 'push'],
    ['POST', `${repo}/merge-upstream`, 'push'],
    ['POST', `${repo}/branches/{branch}/rename`, 'push'],
    ['PUT', `${repo}/pulls/{pull_number}/update-branch`, 'push'],
    ['POST', `${repo}/code-scanning/alerts/{alert_number}/autofix/commits`, 'push'],
    ['DELETE', repo, 'delete-repository'],
    ['POST', `${repo}/transfer`, 'delete-repository'],
    ['PATCH', repo, 'settings'],
    ['POST', `${repo}/releases/{release_id}/assets`, 'release'],
    ['POST', `${repo}/actions/runs/{run_id}/approve`, 'dispatch'],
    ['GET', `${repo}/issues/{issue_number}/timeline`, 'read-account'],
    ['GET', '/user', 'identity'],
    ['GET', '/user/repos', 'read-account'],
    ['GET', '/search/code', 'read-account'],
    ['POST', '/hub', 'organisation'],
    ['POST', '/user/keys', 'user'],
    ['PUT', '/orgs/{org}/actions/secrets/{secret_name}', 'organisation'],
  ])('%s %s is %s', (method, template, effect) => {
    expect(rest.find((line) => line.method === method && line.template === template)?.effect).toBe(effect);
  });

  test('what writes refs, merges or approves by GraphQL has the word of its REST spelling', () => {
    const byEffect = (effect: string): string[] =>
      [...graphql.mutations].filter(([, found]) => found === effect).map(([name]) => name);
    expect(byEffect('push')).toEqual([
      'createCommitOnBranch',
      'createLinkedBranch',
      'createRef',
      'deleteRef',
      'mergeBranch',
      'revertPullRequest',
      'updatePullRequestBranch',
      'updateRef',
      'updateRefs',
    ]);
    expect(byEffect('merge')).toEqual([
      'dequeuePullRequest',
      'disablePullRequestAutoMerge',
      'enablePullRequestAutoMerge',
      'enqueuePullRequest',
      'mergePullRequest',
    ]);
    expect(byEffect('approve')).toEqual(['dismissPullRequestReview']);
    expect(byEffect('delete-repository')).toEqual(['archiveRepository', 'unarchiveRepository']);
  });

  test('no mutation is a mere read, and no root field of a query that is not known to be tied is open', () => {
    const reads = new Set<string>(['read', 'read-public', 'identity', 'read-account', 'read-sensitive']);
    expect([...graphql.mutations].filter(([, effect]) => reads.has(effect))).toEqual([]);
    expect([...graphql.queries].filter(([, how]) => how !== 'refused').map(([name]) => name)).toEqual([
      'codeOfConduct',
      'codesOfConduct',
      'license',
      'licenses',
      'meta',
      'node',
      'nodes',
      'organization',
      'rateLimit',
      'repository',
      'search',
      'user',
      'viewer',
    ]);
  });
});

describe('a dangerous word in a path does not slip into a harmless effect', () => {
  test('of the writes only the rendering of text is a read', () => {
    const harmless = new Set<GithubEffect>(['read', 'read-public', 'identity']);
    const found = rest.filter(({ method, effect }) => method !== 'GET' && harmless.has(effect)).map(named);
    // They store nothing, and go out without a credential.
    expect(found).toEqual(['POST /markdown', 'POST /markdown/raw']);
  });

  test('what a default policy allows on paths about merging, secrets, keys, hooks, releases or protection is known', () => {
    const words = /merge|secret|hook|key|release|protection|ruleset|collaborator|transfer|permission|runner/;
    const found = rest.filter(({ template, effect }) => words.test(template) && allowedByDefault(effect)).map(named);
    expect(found.sort()).toEqual(
      [
        // `key` is the name of a parameter: the name of a code of conduct.
        'GET /codes_of_conduct/{key}',
        // Public keys of a user, as anybody sees them.
        'GET /users/{username}/gpg_keys',
        'GET /users/{username}/keys',
        'GET /users/{username}/ssh_signing_keys',
        // Whether releases can be changed afterwards.
        'GET REPO/immutable-releases',
        // Whether it was merged; how an asynchronous merge goes on.
        'GET REPO/pulls/{pull_number}/merge',
        'GET REPO/pulls/{pull_number}/merge-async/{uuid}',
        // Releases are read like tags.
        'GET REPO/releases',
        'GET REPO/releases/assets/{asset_id}',
        'GET REPO/releases/latest',
        'GET REPO/releases/tags/{tag}',
        'GET REPO/releases/{release_id}',
        'GET REPO/releases/{release_id}/assets',
        // A thumb on a release changes nothing of it.
        'GET REPO/releases/{release_id}/reactions',
        'POST REPO/releases/{release_id}/reactions',
        'DELETE REPO/releases/{release_id}/reactions/{reaction_id}',
        // They write branches: each is judged by its body and by the rules for branches.
        'POST REPO/merge-upstream',
        'POST REPO/merges',
      ].sort(),
    );
  });

  test('of what names no repository a default policy allows no write but the rendering of text', () => {
    const found = rest.filter(
      ({ method, template, effect }) => method !== 'GET' && !template.startsWith(repo) && allowedByDefault(effect),
    );
    expect(found.map(named)).toEqual(['POST /markdown', 'POST /markdown/raw']);
  });

  test('nothing of an organisation, enterprise, team or app but what is public is allowed by default', () => {
    const found = rest.filter(
      ({ template, effect }) =>
        /^\/(orgs|organizations|enterprises|teams|apps?|scim|admin)\b/.test(template) && allowedByDefault(effect),
    );
    expect(found.map(named)).toEqual(
      [
        'GET /apps/{app_slug}',
        'GET /orgs/{org}',
        'GET /orgs/{org}/events',
        'GET /orgs/{org}/public_members',
        'GET /orgs/{org}/public_members/{username}',
        'GET /organizations',
      ].sort(),
    );
  });
});

describe('a broken table stops the start and says where it is broken', () => {
  const read = (text: string): string => {
    try {
      plantOperations(readRestTable(text, 'rest.txt'));
      return 'fine';
    } catch (error) {
      return error instanceof Error ? error.message : 'no error';
    }
  };

  test.each([
    ['GET /zen', 'rest.txt:1: this line is not `METHOD /path effect`'],
    ['# x\nGET /zen read-pubic', 'rest.txt:2: this line has the unknown effect read-pubic'],
    ['GET /zen constructor', 'rest.txt:1: this line has the unknown effect constructor'],
    ['GET /zen ?', 'rest.txt:1: this line has no effect yet (?): a person has to say'],
    ['HEAD /zen read', 'rest.txt:1: this line has the unknown method HEAD'],
    ['GET zen read', 'rest.txt:1: this line has a path that cannot be read'],
    ['GET /a/{b read', 'rest.txt:1: this line has a path that cannot be read'],
    ['GET /a//b read', 'rest.txt:1: this line has a path that cannot be read'],
    ['GET /{+a}/{+b} read', 'rest.txt:1: this line has two parameters that hold slashes'],
    ['GET /a read-public\n\nGET /a read-public', 'rest.txt:3: this line repeats line 1: GET /a'],
    [
      'GET /{a} read-public\nGET /{b} user',
      'lines 1 and 2 are the same path (GET /{b}) with different effects, read-public and user',
    ],
    ['GET /a read-public\nGET /b/x user\nalias /b/x /a', 'are the same path (GET /a) with different effects'],
    ['GET /Zen read-public\nGET /zen read-public', 'two spellings of case'],
    [
      'PUT /orgs/{org}/secrets/{name} secrets',
      'rest.txt:1: this line names no repository, and secrets is an effect on one',
    ],
    ['number', 'rest.txt:1: this line names no parameter'],
  ])('%j', (text, message) => {
    expect(read(text)).toContain(message);
  });

  test('all that is wrong is told at once', () => {
    const message = read('GET /a nonsense\nGET /b read-public\nPOKE /c read');
    expect(message).toContain('rest.txt:1:');
    expect(message).not.toContain('rest.txt:2:');
    expect(message).toContain('rest.txt:3:');
  });

  test.each([
    ['mutation a', 'g.txt:1: this line is not `mutation NAME effect`'],
    ['mutation a nonsense', 'g.txt:1: this line has the unknown effect nonsense'],
    ['mutation a ?', 'g.txt:1: this line has no effect yet'],
    ['mutation a issue\nmutation a pull', 'g.txt:2: this line repeats the mutation a'],
    ['query a open', 'g.txt:1: this line has the unknown effect open; known: repository'],
    ['query a node\nquery a nodes', 'g.txt:2: this line repeats the query a'],
    ['subscription a issue', 'g.txt:1: this line begins with subscription'],
  ])('GraphQL: %j', (text, message) => {
    expect(() => readGraphqlTable(text, 'g.txt')).toThrow(message);
  });
});
