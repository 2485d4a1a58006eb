import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LearningGround, learner, makeLearningGround } from '../../support/learning-ground.ts';

const githubs = [
  'github.com',
  'api.github.com',
  'gist.github.com',
  'raw.githubusercontent.com',
  'githubusercontent.com',
];
const credentialed = ['kept.example', 'any.tenant.example', 'auth.example'];
const others = ['code.ghe.example', 'ghe.example', 'git.example', 'inner.corp.example', 'sallyport.internal.example'];
const value = 'real-value-0123456789abcdef';
let ground: LearningGround;

beforeAll(async () => {
  ground = await makeLearningGround([...githubs, ...credentialed, ...others, 'known.example', 'new.example'], {
    allow: [{ host: 'known.example', methods: ['POST'], paths: ['/v1/**'] }],
    github: { hosts: ['ghe.example'] },
    git: { hosts: ['git.example'] },
    credentials: {
      kept: { hosts: ['kept.example', 'known.example', '*.tenant.example'], inject: { header: 'x-api-key' } },
      token: {
        hosts: ['kept.example'],
        inject: { bearer: true },
        source: {
          oauth: {
            grant: 'client_credentials',
            token_url: 'https://auth.example/token',
            client_id: 'x',
            client_secret: { file: '/nowhere' },
          },
        },
      },
    },
  });
  await ground.gateway.setSecret('kept', value);
  expect(await ground.startLearning('learner')).toBe(204);
});

afterAll(() => ground.close());

describe('learning relaxes nothing that the policy has a word about', () => {
  test.each([...githubs, ...credentialed, 'code.ghe.example', 'ghe.example', 'git.example'])(
    '%s stays shut',
    async (host) => {
      expect(await ground.get(learner, `https://${host}/x`)).toEqual(['403', 'domain.not-allowed']);
      expect(ground.upstream.seen).toEqual([]);
    },
  );

  test('a host with a rule keeps its methods and paths', async () => {
    expect(await ground.get(learner, 'https://known.example/v1/x')).toEqual(['403', 'method.not-allowed']);
    expect(await ground.get(learner, 'https://known.example/v2', ['-d', 'x'])).toEqual(['403', 'path.not-allowed']);
    expect(ground.upstream.seen).toEqual([]);
  });

  test('what does pass carries no credential', async () => {
    expect(await ground.get(learner, 'https://new.example/x')).toEqual(['200', '']);
    expect(JSON.stringify(ground.upstream.seen.splice(0))).not.toContain(value);
    const record = (await ground.gateway.journal()).at(-1);
    expect(record).toMatchObject({ host: 'new.example', rule: 'learning', credential: null, verdict: 'allowed' });
  });
});
