import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  enterpriseHost,
  enterpriseToken,
  expectDone,
  expectRefused,
  type GhGround,
  openGhGround,
} from '../support/fake-github-ground.ts';

let ground: GhGround;
const repo = ['-R', 'acme/widgets'];
const env = { GH_HOST: enterpriseHost, GH_ENTERPRISE_TOKEN: 'placeholder' };

beforeAll(async () => {
  ground = await openGhGround({
    allow: [{ preset: 'github' }, { host: enterpriseHost }],
    github: { hosts: [enterpriseHost] },
    credentials: {
      github: {},
      ghe: { hosts: [enterpriseHost], inject: { basic: { username: 'x-access-token' } } },
    },
  });
  await ground.gateway.setSecret('ghe', enterpriseToken);
});

afterAll(() => ground.stop());

const gh = (...args: string[]): Promise<string> => expectDone(ground, args, { env });

describe('an Enterprise host that the operator named is a GitHub of its own', () => {
  test('reading works under /api/v3 and /api/graphql, with the credential of that host', async () => {
    expect(await gh('pr', 'view', '2', ...repo)).toContain('title:\tGrease the widget');
    expect(ground.github.seen.map(({ host, url }) => host + url)).toEqual(['ghe.example.com/api/graphql']);
    expect(await gh('api', 'repos/acme/widgets', '--jq', '.full_name')).toBe('acme/widgets\n');
    expect(ground.github.seen.map(({ host, url }) => host + url)).toEqual([
      'ghe.example.com/api/v3/repos/acme/widgets',
    ]);
    const printed = await gh('api', '--paginate', 'repos/acme/widgets/issues', '--jq', '.[].title');
    expect(printed).toContain('The left widget squeaks\nGrease the widget\n');
    expect(printed).not.toContain(enterpriseToken);
  });

  test('gh finds out what this host can do, and lists issues', async () => {
    expect(await gh('issue', 'list', ...repo)).toContain('1\tOPEN\tThe left widget squeaks');
    expect(ground.github.seen.map(({ operation }) => operation)).toEqual(['query Issue_fields', 'query IssueList']);
  });

  test('pull requests are opened and issues closed', async () => {
    expect(await gh('pr', 'create', '--head', 'sandbox/new', '--title', 'A', '--body', 'B', ...repo)).toMatch(
      /^https:\/\/ghe\.example\.com\/acme\/widgets\/pull\/\d+\n$/,
    );
    expect(await gh('issue', 'close', '1', ...repo)).toContain('Closed issue #1');
  });

  test.each([
    ['pr merge 2 --merge -R acme/widgets', 'its effect is "merge"', 'github.effect'],
    ['repo delete acme/widgets --yes', 'HTTP 403: DELETE /api/v3/repos/acme/widgets is blocked', 'policy.blocked-api'],
    ['repo edit acme/widgets --visibility public', 'its effect is "settings"', 'github.effect'],
    ['release upload v1.0.0 asset.txt -R acme/widgets', 'its effect is "release"', 'github.effect'],
    ['pr list -R other/private', 'other/private is not', 'repo.not-allowed'],
    ['api repos/other/private', 'other/private is not', 'repo.not-allowed'],
  ])('gh %s is refused there too', async (command, says, code) => {
    await expectRefused(ground, command.split(' '), { says, code }, { env });
  });

  test('each host gets its own token', async () => {
    // The fake takes the token of the host alone for a login.
    const login = (): unknown[] => ground.github.seen.map((seen) => [seen.host, seen.login]);
    await gh('api', 'repos/acme/widgets');
    expect(login()).toEqual([[enterpriseHost, true]]);
    await expectDone(ground, ['api', 'repos/acme/widgets']);
    expect(login()).toEqual([['api.github.com', true]]);
  });

  test('a host that is not listed is not reached', async () => {
    const expected = { says: 'ghe.example.org is not on the allowlist', code: 'domain.not-allowed' };
    await expectRefused(ground, ['api', 'user', '--hostname', 'ghe.example.org'], expected, { env });
    expect(ground.github.seen).toEqual([]);
  });
});
