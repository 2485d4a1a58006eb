import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectDone, type GhGround, openGhGround } from '../support/fake-github-ground.ts';

let ground: GhGround;
const repo = ['-R', 'acme/widgets'];

beforeAll(async () => {
  ground = await openGhGround();
});

afterAll(() => ground.stop());

const gh = (...args: string[]): Promise<string> => expectDone(ground, args);
const urls = (): string[] => ground.github.seen.map(({ method, url }) => `${method} ${url}`);

describe('gh reads what is in its repository', () => {
  test('auth status says who the token belongs to, and does not have it', async () => {
    expect(await gh('auth', 'status')).toContain('Logged in to github.com as the-agent');
  });

  test('repo view shows the description and the readme', async () => {
    expect(await gh('repo', 'view', 'acme/widgets')).toContain('description:\tThe widgets of acme\n--\n# widgets');
    expect(JSON.parse(await gh('repo', 'view', 'acme/widgets', '--json', 'name,owner'))).toMatchObject({
      name: 'widgets',
    });
  });

  test('a repository is the same in capital letters', async () => {
    expect(await gh('repo', 'view', 'ACME/Widgets')).toContain('The widgets of acme');
  });

  test('run list and run view show the runs of its workflows', async () => {
    expect(await gh('run', 'list', ...repo)).toMatch(
      /^completed\tsuccess\tBuild the widgets\tCI\tsandbox\/grease\tpush/,
    );
    expect(await gh('run', 'view', '501', ...repo)).toContain('✓ build in 0s (ID 701)');
    expect(await gh('workflow', 'list', ...repo)).toBe('CI\tactive\t31\n');
  });

  test('release list and release view show its releases', async () => {
    expect(await gh('release', 'list', ...repo)).toMatch(/^The first widget\tLatest\tv1\.0\.0\t/);
    expect(await gh('release', 'view', ...repo)).toContain('tag:\tv1.0.0');
    expect(await gh('release', 'view', 'v1.0.0', ...repo)).toContain('Turns to the left.');
  });

  test('label list shows its labels', async () => {
    expect(await gh('label', 'list', ...repo)).toBe('bug\t\t#ff0000\n');
  });

  test('api asks for the repository, and for the account that the token belongs to', async () => {
    expect(await gh('api', 'repos/acme/widgets', '--jq', '.full_name')).toBe('acme/widgets\n');
    expect(await gh('api', 'user', '--jq', '.login')).toBe('the-agent\n');
  });

  test('api --paginate follows links that name the repository by its number', async () => {
    const printed = await gh('api', '--paginate', 'repos/acme/widgets/issues', '--jq', '.[].title');
    expect(printed).toBe('The left widget squeaks\nGrease the widget\n');
    expect(urls()).toEqual([
      'GET /repos/acme/widgets/issues?per_page=100',
      // The gateway looks up whose number it is.
      'GET /repositories/4711',
      'GET /repositories/4711/issues?per_page=1&page=2',
    ]);
  });

  test('api graphql asks with and without variables', async () => {
    const plain = '{repository(owner:"acme",name:"widgets"){nameWithOwner}}';
    expect(JSON.parse(await gh('api', 'graphql', '-f', `query=${plain}`))).toEqual({
      data: { repository: { nameWithOwner: 'acme/widgets' } },
    });
    const query = 'query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { name } }';
    const names = ['-f', 'owner=acme', '-f', 'name=widgets'];
    expect(await gh('api', 'graphql', '-f', `query=${query}`, ...names, '--jq', '.data.repository.name')).toBe(
      'widgets\n',
    );
  });

  test('api graphql --paginate goes through all pages', async () => {
    const issues = 'issues(first: 10, after: $endCursor) { nodes { title } pageInfo { hasNextPage endCursor } }';
    const query = `query($endCursor: String) { repository(owner: "acme", name: "widgets") { ${issues} } }`;
    const jq = '.data.repository.issues.nodes[].title';
    const printed = await gh('api', 'graphql', '--paginate', '-f', `query=${query}`, '--jq', jq);
    expect(printed).toBe('The left widget squeaks\n');
  });

  test('every call is in the journal with the credential that was put in', async () => {
    await gh('api', 'repos/acme/widgets');
    const record = (await ground.gateway.journal()).filter(({ path }) => path === '/repos/acme/widgets').at(-1);
    expect(record).toMatchObject({ verdict: 'allowed', credential: 'github', host: 'api.github.com' });
  });
});
