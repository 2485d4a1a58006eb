import { describe, expect, test } from 'vitest';
import { anAccessRequest, openApprovals } from '../../../support/approvals-ground.ts';

const by = 'user 0';

function watched(...options: Parameters<typeof openApprovals>) {
  const ground = openApprovals(...options);
  ground.desk.watchers.begin();
  return ground;
}

describe('an agent asks a person for something', () => {
  test('it is a question with its reason, and the agent hears what came of it', async () => {
    const { desk } = watched();
    expect(desk.accessRequest('one', anAccessRequest)).toMatchObject({
      id: 'q1',
      state: 'waiting',
      url: 'https://requested.example/',
    });
    expect(desk.list()).toMatchObject([{ reason: 'the tests need it', requestId: null, sandbox: 'one' }]);
    await desk.answer('q1', { answer: 'approve', for: 'minutes', minutes: 10, scope: 'path', by });
    expect(desk.accessRequestsOf('one')).toMatchObject([{ state: 'approved', until: '1970-01-01T00:26:40.000Z' }]);
    expect(desk.approvals()).toMatchObject([{ sandbox: 'one', covers: { host: 'requested.example', method: 'GET' } }]);
  });

  test('what is over is not told as allowed: its time has passed, or a person has ended it', async () => {
    const { desk, pass } = watched();
    const answer = { answer: 'approve', for: 'minutes', minutes: 10, scope: 'path', by } as const;
    desk.accessRequest('one', anAccessRequest);
    await desk.answer('q1', answer);
    await desk.withdraw('a1', by);
    expect(desk.accessRequestsOf('one')).toMatchObject([
      { state: 'over', next: expect.stringContaining('not any more') },
    ]);
    desk.accessRequest('one', anAccessRequest);
    await desk.answer('q2', answer);
    expect(desk.accessRequestsOf('one').map(({ state }) => state)).toEqual(['approved', 'over']);
    pass(10 * 60_000);
    expect(desk.accessRequestsOf('one').map(({ state }) => state)).toEqual(['over', 'over']);
  });

  test('denied, and forgotten when nobody answers', async () => {
    const { desk, pass } = watched();
    desk.accessRequest('one', anAccessRequest);
    await desk.answer('q1', { answer: 'deny', by });
    desk.accessRequest('one', anAccessRequest);
    pass(60 * 60_000);
    expect(desk.accessRequestsOf('one').map(({ state }) => state)).toEqual(['forgotten', 'denied']);
    expect(desk.list()).toEqual([]);
  });

  test('once is no answer where nothing waits', async () => {
    const { desk } = watched();
    desk.accessRequest('one', anAccessRequest);
    await expect(desk.answer('q1', { answer: 'approve', for: 'once', by })).rejects.toMatchObject({ reason: 'not-so' });
  });

  test('one that no approval would help can only be denied', async () => {
    const { desk } = watched({ judged: { inVain: 'DELETE is blocked' } });
    desk.accessRequest('one', anAccessRequest);
    const answer = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by } as const;
    await expect(desk.answer('q1', answer)).rejects.toThrow('DELETE is blocked');
    expect(desk.approvals()).toEqual([]);
    await desk.answer('q1', { answer: 'deny', by });
    expect(desk.list()).toEqual([]);
  });

  test('what is allowed already is told so and asks nobody; so is what nobody would see', () => {
    expect(watched({ judged: { passes: true } }).desk.accessRequest('one', anAccessRequest)).toMatchObject({
      state: 'approved',
    });
    const { desk } = openApprovals();
    expect(desk.accessRequest('one', anAccessRequest)).toEqual({ refused: 'nobody-watches' });
    expect(desk.list()).toEqual([]);
  });

  test('the same accessRequest again is the same one; so many of others are too many', () => {
    const { desk } = watched();
    for (let i = 0; i < 3; i++) expect(desk.accessRequest('one', anAccessRequest)).toMatchObject({ id: 'q1' });
    for (let i = 1; i < 10; i++) desk.accessRequest('one', { ...anAccessRequest, path: `/${i}` });
    expect(desk.accessRequest('one', { ...anAccessRequest, path: '/more' })).toEqual({ refused: 'too-many' });
    expect(desk.accessRequest('two', anAccessRequest)).toMatchObject({ state: 'waiting' });
    for (let sandbox = 0; sandbox < 48; sandbox++)
      for (let i = 0; i < 10; i++) desk.accessRequest(`many-${sandbox}`, { ...anAccessRequest, path: `/${i}` });
    for (let i = 0; i < 10; i++) desk.accessRequest('two', { ...anAccessRequest, path: `/${i}` });
    expect(desk.accessRequest('three', anAccessRequest)).toEqual({ refused: 'too-many' });
    expect(desk.list()).toHaveLength(500);
  });

  test('a sandbox hears of its own alone, and leaves nothing behind', async () => {
    const { desk } = watched();
    desk.accessRequest('one', anAccessRequest);
    expect(desk.accessRequestsOf('two')).toEqual([]);
    await desk.drop('one');
    expect(desk.accessRequestsOf('one')).toEqual([]);
    expect(desk.list()).toEqual([]);
  });
});
