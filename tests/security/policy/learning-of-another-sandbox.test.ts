import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LearningGround, learner, makeLearningGround, neighbour } from '../../support/learning-ground.ts';

let ground: LearningGround;
const url = 'https://new.example/';

beforeAll(async () => {
  ground = await makeLearningGround(['new.example']);
});

afterAll(() => ground.close());

describe('learning is for one sandbox, while it lives', () => {
  test('nobody learns who was not told to, and nobody beside one who was', async () => {
    expect(await ground.get(learner, url)).toEqual(['403', 'domain.not-allowed']);
    expect(await ground.startLearning('learner')).toBe(204);
    expect(await ground.get(learner, url)).toEqual(['200', '']);
    expect(await ground.get(neighbour, url)).toEqual(['403', 'domain.not-allowed']);
  });

  test('`sallyport check` says of each what the path does', async () => {
    const check = async (sandbox: string) =>
      (await ground.gateway.admin('POST', '/internal/check', { sandbox, method: 'GET', url })).json();
    expect(await check('learner')).toMatchObject({ allowed: true, rule: 'learning', credential: null });
    expect(await check('neighbour')).toMatchObject({ allowed: false, code: 'domain.not-allowed' });
  });

  test('a sandbox of the same name that comes after it does not learn', async () => {
    await ground.gateway.admin('DELETE', '/internal/containers/learner');
    await ground.registerLearner('learner');
    expect(await ground.get(learner, url)).toEqual(['403', 'domain.not-allowed']);
  });

  test('a sandbox that is not there, or no name at all, cannot be told to learn', async () => {
    expect(await ground.startLearning('nobody')).toBe(404);
    expect((await ground.gateway.admin('POST', '/internal/learning', { sandbox: 7 })).status).toBe(400);
    expect((await ground.gateway.admin('POST', '/internal/learning', [])).status).toBe(400);
  });

  test('it is written down that it learned', async () => {
    const notes = (await ground.gateway.journal()).filter(({ note }) => note === 'approval');
    expect(notes).toMatchObject([{ sandbox: 'learner', answer: 'learn' }]);
    // And told with its records: that is how the proposal knows where a session began.
    const told = (await ground.gateway.admin('GET', '/internal/audit?sandbox=learner')).body;
    expect(told.split('\n').filter((line) => line.includes('"answer":"learn"'))).toHaveLength(1);
  });
});
