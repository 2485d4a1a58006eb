import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { type GithubEffect, githubEffects } from '../../../../src/path/github-effects.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { loadRestTable } from '../../../../src/stages/authorize/github/operation-table.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { githubPolicy } from '../../../support/hand-made-policy.ts';

/** What its own word says is of an account or an organisation; each is allowed by that word alone. */
const ofAccounts: readonly GithubEffect[] = ['user', 'organisation', 'app', 'migration', 'create-repository'];
const ofBoth: readonly GithubEffect[] = ['gist', 'project', 'package', 'codespace'];

/** An operator who trusts a sandbox with everything about its repository, and with no account. */
const effects = (Object.keys(githubEffects) as GithubEffect[]).filter(
  (effect) => !ofAccounts.includes(effect) && !ofBoth.includes(effect) && effect !== 'read-account',
);
const policy = {
  ...githubPolicy,
  blockedApiPatterns: new Map(),
  githubEffects: { bot: new Set(effects), user: new Set(effects) },
};
const both = new Set([...effects, ...ofBoth]);
const withBoth = { ...policy, githubEffects: { bot: both, user: both } };
const ask = (method: string, path: string, by = policy) =>
  decide(by, sandboxWith(), canonicalOf(method, `https://api.github.com${path}`), new HeaderList());

describe('what is allowed for a repository is not allowed for its organisation or for the account', () => {
  test.each([
    ['PUT', '/orgs/acme/actions/secrets/TOKEN'],
    ['PATCH', '/orgs/acme/actions/variables/NAME'],
    ['PUT', '/organizations/7/actions/secrets/TOKEN'],
    ['POST', '/orgs/acme/hooks'],
    ['PUT', '/orgs/acme/rulesets/7'],
    ['PUT', '/orgs/acme/outside_collaborators/eve'],
    ['POST', '/orgs/acme/artifacts/metadata/deployment-record'],
    ['DELETE', '/orgs/acme/attestations/7'],
    ['POST', '/orgs/acme/code-security/configurations'],
    ['POST', '/orgs/acme/secret_scanning/disable_all'],
    ['POST', '/user/keys'],
    ['POST', '/user/gpg_keys'],
    ['POST', '/user/ssh_signing_keys'],
    ['PUT', '/user/codespaces/secrets/TOKEN'],
    ['GET', '/user/codespaces/secrets'],
    ['PATCH', '/user/repository_invitations/7'],
    ['DELETE', '/users/acme/attestations/7'],
    ['DELETE', '/user/7/attestations/7'],
    ['POST', '/hub'],
  ])('%s %s', (method, path) => {
    const refusal = refusalOf(() => ask(method, path));
    expect(refusal.code).toBe('github.effect');
    expect(refusal.message).toMatch(/"(?:user|organisation)"/);
  });

  test('no line of the table that names no repository is allowed with a credential', () => {
    const { operations, numbers } = loadRestTable();
    const loose = operations.filter(
      ({ template }) =>
        !/\{(?:template_)?owner\}\/\{(?:template_)?repo\}/.test(template) && !template.startsWith('/repositories/{'),
    );
    expect(loose.length).toBeGreaterThan(400);
    const passed = loose.flatMap(({ method, template }) => {
      const path = template.replace(/\{([\w-]+)\}/g, (_, name: string) => (numbers.has(name) ? '7' : 'made-up'));
      try {
        return ask(method, path).credential === null ? [] : [`${method} ${template}`];
      } catch {
        return [];
      }
    });
    // Who the credential belongs to, and how much of its rate is left.
    expect(passed.sort()).toEqual(['GET /', 'GET /rate_limit', 'GET /user']);
  });
});

describe('who may use codespaces and packages does not administer those of others', () => {
  test.each([
    ['GET', '/orgs/acme/codespaces'],
    ['PUT', '/orgs/acme/codespaces/access'],
    ['POST', '/orgs/acme/codespaces/access/selected_users'],
    ['DELETE', '/orgs/acme/codespaces/access/selected_users'],
    ['GET', '/orgs/acme/copilot-spaces/7'],
    ['POST', '/orgs/acme/copilot-spaces'],
    ['POST', '/orgs/acme/copilot-spaces/7/collaborators'],
    ['PUT', '/organizations/7/copilot-spaces/7/resources/7'],
    ['POST', '/users/ann/copilot-spaces/7/collaborators'],
    ['PUT', '/users/ann/copilot-spaces/7/collaborators/user/eve'],
    ['POST', '/orgs/acme/artifacts/metadata/storage-record'],
    ['GET', '/orgs/acme/installations'],
    ['GET', '/orgs/acme/installation'],
    ['GET', '/orgs/acme/teams/owners/invitations'],
    ['GET', '/teams/7/invitations'],
  ])('%s %s', (method, path) => {
    const refusal = refusalOf(() => ask(method, path, withBoth));
    expect(refusal.code).toBe('github.effect');
    expect(refusal.message).toMatch(/"(?:user|organisation|app)"/);
  });

  test.each([
    ['GET', '/user/codespaces'],
    ['POST', '/repos/acme/widgets/codespaces'],
    ['POST', '/users/ann/copilot-spaces'],
    ['GET', '/users/ann/copilot-spaces/7/collaborators'],
    ['DELETE', '/orgs/acme/packages/npm/widgets'],
  ])('%s %s passes', (method, path) => {
    expect(ask(method, path, withBoth).credential).toBe('github');
  });
});

describe('so that it means something: the same for the repository passes', () => {
  test.each([
    ['PUT', '/repos/acme/widgets/actions/secrets/TOKEN'],
    ['POST', '/repos/acme/widgets/hooks'],
    ['PUT', '/repos/acme/widgets/rulesets/7'],
    ['PUT', '/repos/acme/widgets/collaborators/eve'],
    ['POST', '/repos/acme/widgets/keys'],
    ['POST', '/repos/acme/widgets/deployments'],
  ])('%s %s', (method, path) => {
    expect(ask(method, path).credential).toBe('github');
  });
});
