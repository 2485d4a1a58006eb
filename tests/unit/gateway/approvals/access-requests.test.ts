import { describe, expect, test } from 'vitest';
import { anAccessRequest, openApprovals } from '../../../support/approvals-ground.ts';

const by = 'user 0';

function watched(...options: Parameters<typeof openApprovals>) {
  const ground = openApprovals(...options);
  ground.service.watchers.begin();
  return ground;
}

describe('an agent asks a person for something', () => {
  test('it is a question with its reason, and the agent hears what came of it', async () => {
    const { service } = watched();
    expect(service.accessRequest('one', anAccessRequest)).toMatchObject({
      id: 'q1',
      state: 'waiting',
      url: 'https://requested.example/',
    });
    expect(service.list()).toMatchObject([{ reason: 'the tests need it', requestId: null, sandbox: 'one' }]);
    await service.answer('q1', { answer: 'approve', for: 'minutes', minutes: 10, scope: 'path', by });
    expect(service.accessRequestsOf('one')).toMatchObject([{ state: 'approved', until: '1970-01-01T00:26:40.000Z' }]);
    expect(service.approvals()).toMatchObject([
      { sandbox: 'one', covers: { host: 'requested.example', method: 'GET' } },
    ]);
  });

  test('what is over is not told as allowed: its time has passed, or a person has ended it', async () => {
    const { service, pass } = watched();
    const answer = { answer: 'approve', for: 'minutes', minutes: 10, scope: 'path', by } as const;
    service.accessRequest('one', anAccessRequest);
    await service.answer('q1', answer);
    await service.withdraw('a1', by);
    expect(service.accessRequestsOf('one')).toMatchObject([
      { state: 'over', next: expect.stringContaining('that time has ended') },
    ]);
    service.accessRequest('one', anAccessRequest);
    await service.answer('q2', answer);
    expect(service.accessRequestsOf('one').map(({ state }) => state)).toEqual(['approved', 'over']);
    pass(10 * 60_000);
    expect(service.accessRequestsOf('one').map(({ state }) => state)).toEqual(['over', 'over']);
  });

  test('denied, and forgotten when nobody answers', async () => {
    const { service, pass } = watched();
    service.accessRequest('one', anAccessRequest);
    await service.answer('q1', { answer: 'deny', by });
    service.accessRequest('one', anAccessRequest);
    pass(60 * 60_000);
    expect(service.accessRequestsOf('one').map(({ state }) => state)).toEqual(['forgotten', 'denied']);
    expect(service.list()).toEqual([]);
  });

  test('once is no answer where nothing waits', async () => {
    const { service } = watched();
    service.accessRequest('one', anAccessRequest);
    await expect(service.answer('q1', { answer: 'approve', for: 'once', by })).rejects.toMatchObject({
      reason: 'not-so',
    });
  });

  test('one that no approval would help can only be denied', async () => {
    const { service } = watched({ judged: { inVain: 'DELETE is blocked' } });
    service.accessRequest('one', anAccessRequest);
    const answer = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by } as const;
    await expect(service.answer('q1', answer)).rejects.toThrow('DELETE is blocked');
    expect(service.approvals()).toEqual([]);
    await service.answer('q1', { answer: 'deny', by });
    expect(service.list()).toEqual([]);
  });

  test('what is allowed already is told so and asks nobody; so is what nobody would see', () => {
    expect(watched({ judged: { passes: true } }).service.accessRequest('one', anAccessRequest)).toMatchObject({
      state: 'approved',
    });
    const { service } = openApprovals();
    expect(service.accessRequest('one', anAccessRequest)).toEqual({ refused: 'nobody-watches' });
    expect(service.list()).toEqual([]);
  });

  test('the same accessRequest again is the same one; so many of others are too many', () => {
    const { service } = watched();
    for (let i = 0; i < 3; i++) expect(service.accessRequest('one', anAccessRequest)).toMatchObject({ id: 'q1' });
    for (let i = 1; i < 10; i++) service.accessRequest('one', { ...anAccessRequest, path: `/${i}` });
    expect(service.accessRequest('one', { ...anAccessRequest, path: '/more' })).toEqual({ refused: 'too-many' });
    expect(service.accessRequest('two', anAccessRequest)).toMatchObject({ state: 'waiting' });
    for (let sandbox = 0; sandbox < 48; sandbox++)
      for (let i = 0; i < 10; i++) service.accessRequest(`many-${sandbox}`, { ...anAccessRequest, path: `/${i}` });
    for (let i = 0; i < 10; i++) service.accessRequest('two', { ...anAccessRequest, path: `/${i}` });
    expect(service.accessRequest('three', anAccessRequest)).toEqual({ refused: 'too-many' });
    expect(service.list()).toHaveLength(500);
  });

  test('a sandbox hears of its own alone, and leaves nothing behind', async () => {
    const { service } = watched();
    service.accessRequest('one', anAccessRequest);
    expect(service.accessRequestsOf('two')).toEqual([]);
    await service.drop('one');
    expect(service.accessRequestsOf('one')).toEqual([]);
    expect(service.list()).toEqual([]);
  });
});
