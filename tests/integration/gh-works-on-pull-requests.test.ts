import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectDone, type GhGround, openGhGround } from '../support/fake-github-ground.ts';
import type { FakeItem } from '../support/fake-github-state.ts';

let ground: GhGround;
let pull: FakeItem;
const repo = ['-R', 'acme/widgets'];

beforeAll(async () => {
  ground = await openGhGround();
});

afterAll(() => ground.stop());

beforeEach(() => {
  const { state } = ground.github;
  pull = state.add(state.find('acme', 'widgets')!, 'PullRequest', {
    title: 'Grease the widget',
    body: 'It was dry.',
    head: 'sandbox/grease',
  });
});

const pr = (...args: string[]): Promise<string> => expectDone(ground, ['pr', ...args, ...repo]);
const operations = (): (string | null)[] => ground.github.seen.map(({ operation }) => operation);

describe('gh works on the pull requests of its repository', () => {
  test('create opens one from a branch', async () => {
    const printed = await pr('create', '--head', 'sandbox/new', '--title', 'A new one', '--body', 'With a text');
    const made = ground.github.state.find('acme', 'widgets')!.items.at(-1)!;
    expect(printed).toBe(`https://github.com/acme/widgets/pull/${made.number}\n`);
    expect(made).toMatchObject({ title: 'A new one', body: 'With a text', head: 'sandbox/new', base: 'main' });
    expect(operations()).toEqual(['query RepositoryInfo', 'query PullRequestForBranch', 'mutation PullRequestCreate']);
  });

  test('create asks for reviewers and labels, and assigns itself', async () => {
    const options = ['--title', 'A', '--body', 'B', '--reviewer', 'alice', '--label', 'bug', '--assignee', '@me'];
    await pr('create', '--draft', '--head', 'sandbox/more', ...options);
    expect(operations()).toContain('mutation PullRequestCreateMetadata');
    expect(operations()).toContain('mutation PullRequestCreateRequestReviews');
  });

  test('list shows them, also by a search and as JSON', async () => {
    const line = `${pull.number}\tGrease the widget\tsandbox/grease\tOPEN\t`;
    expect(await pr('list')).toContain(line);
    expect(await pr('list', '--search', 'grease')).toContain(line);
    expect(await pr('list', '--author', '@me', '--state', 'all', '--label', 'bug')).toContain(line);
    const fields = 'number,author,labels,reviewDecision,statusCheckRollup';
    const listed = JSON.parse(await pr('list', '--json', fields)) as object[];
    expect(listed).toContainEqual(
      expect.objectContaining({
        number: pull.number,
        statusCheckRollup: [expect.objectContaining({ conclusion: 'SUCCESS' })],
      }),
    );
  });

  test('view shows one, by its number and by its branch', async () => {
    expect(await pr('view', String(pull.number))).toMatch(/^title:\tGrease the widget\nstate:\tOPEN\n/);
    expect(await pr('view', 'sandbox/grease')).toContain('It was dry.');
  });

  test('view --comments shows what was said', async () => {
    await pr('comment', String(pull.number), '--body', 'More grease, please');
    expect(await pr('view', String(pull.number), '--comments')).toContain('More grease, please');
    expect(pull.comments.map(({ body }) => body)).toEqual(['More grease, please']);
  });

  test('status lists those of the sandbox', async () => {
    expect(await pr('status')).toContain(`#${pull.number}  Grease the widget [sandbox/grease]`);
  });

  test('checks shows the checks', async () => {
    expect(await pr('checks', String(pull.number))).toMatch(/^build\tpass\t/);
  });

  test('diff shows the change', async () => {
    expect(await pr('diff', String(pull.number))).toContain('+greased');
  });

  test('review --comment and --request-changes leave a review that approves nothing', async () => {
    await pr('review', String(pull.number), '--comment', '--body', 'I looked at it');
    await pr('review', String(pull.number), '--request-changes', '--body', 'Not like this');
    expect(pull.reviews.map(({ state, body }) => [state, body])).toEqual([
      ['COMMENTED', 'I looked at it'],
      ['CHANGES_REQUESTED', 'Not like this'],
    ]);
  });

  test('edit changes the title and adds a label', async () => {
    await pr('edit', String(pull.number), '--title', 'Grease all widgets', '--add-label', 'bug');
    expect(pull).toMatchObject({ title: 'Grease all widgets', labels: ['bug'] });
  });

  test('close and reopen', async () => {
    expect(await pr('close', String(pull.number))).toContain('Closed pull request');
    expect(pull.state).toBe('CLOSED');
    expect(await pr('reopen', String(pull.number))).toContain('Reopened pull request');
    expect(pull.state).toBe('OPEN');
  });

  test('ready --undo makes it a draft', async () => {
    expect(await pr('ready', String(pull.number), '--undo')).toContain('converted to "draft"');
  });
});
