import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectDone, type GhGround, openGhGround } from '../support/fake-github-ground.ts';
import type { FakeItem } from '../support/fake-github-state.ts';

let ground: GhGround;
let squeak: FakeItem;

beforeAll(async () => {
  ground = await openGhGround();
});

afterAll(() => ground.stop());

beforeEach(() => {
  const { state } = ground.github;
  const repository = state.find('acme', 'widgets')!;
  squeak = state.add(repository, 'Issue', { title: 'It squeaks', body: 'Oil does not help.' });
});

const issue = (...args: string[]): Promise<string> => expectDone(ground, ['issue', ...args, '-R', 'acme/widgets']);

describe('gh works on the issues of its repository', () => {
  test('create opens one, with a label', async () => {
    const printed = await issue('create', '--title', 'It rattles', '--body', 'At night', '--label', 'bug');
    const made = ground.github.state.find('acme', 'widgets')!.items.at(-1)!;
    expect(printed).toBe(`https://github.com/acme/widgets/issues/${made.number}\n`);
    expect(made).toMatchObject({ kind: 'Issue', title: 'It rattles', body: 'At night' });
  });

  test('list shows them, by a search and by filters too', async () => {
    const line = `${squeak.number}\tOPEN\tIt squeaks\t`;
    expect(await issue('list')).toContain(line);
    expect(await issue('list', '--search', 'squeak')).toContain(line);
    expect(await issue('list', '--assignee', '@me', '--author', 'alice', '--mention', 'bob')).toContain(line);
    expect(await issue('list', '--label', 'bug', '--state', 'all')).toContain(line);
  });

  test('status lists those of the sandbox', async () => {
    expect(await issue('status')).toContain('Issues opened by you');
  });

  test('comment adds a comment, view shows it', async () => {
    await issue('comment', String(squeak.number), '--body', 'I hear it too');
    expect(squeak.comments.map(({ body }) => body)).toEqual(['I hear it too']);
    expect(await issue('view', String(squeak.number))).toMatch(/^title:\tIt squeaks\nstate:\tOPEN\n/);
    expect(await issue('view', String(squeak.number), '--comments')).toContain('I hear it too');
  });

  test('a comment by REST arrives as it was written, and names people', async () => {
    const body = 'Thanks, @alice: 10 µm of “play”\n\n```sh\nmake && ./widget --copilot\n```\nmail ann@claude.example';
    const path = `repos/acme/widgets/issues/${squeak.number}/comments`;
    const made = JSON.parse(await expectDone(ground, ['api', path, '-f', `body=${body}`])) as { body: string };
    expect(made.body).toBe(body);
    expect(ground.github.writes.at(-1)).toMatchObject({ method: 'POST' });
  });

  test('edit changes its text, its labels and who it is assigned to', async () => {
    await issue('edit', String(squeak.number), '--title', 'It squeaks loudly', '--body', 'Now even at rest');
    await issue('edit', String(squeak.number), '--add-label', 'bug', '--add-assignee', '@me');
    expect(squeak).toMatchObject({ title: 'It squeaks loudly', body: 'Now even at rest', labels: ['bug'] });
  });

  test('close with a comment, and reopen', async () => {
    expect(await issue('close', String(squeak.number), '--comment', 'Oiled')).toContain('Closed issue');
    expect(squeak).toMatchObject({ state: 'CLOSED', comments: [expect.objectContaining({ body: 'Oiled' })] });
    expect(await issue('reopen', String(squeak.number))).toContain('Reopened issue');
    expect(squeak.state).toBe('OPEN');
  });
});
