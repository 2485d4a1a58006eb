import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type LearningGround, learner, makeLearningGround } from '../../support/learning-ground.ts';
import { startTestGateway } from '../../support/test-gateway.ts';

const asked = vi.hoisted((): string[] => []);

// No question leaves this machine: these names are somewhere inside, as a resolver of the network would say.
vi.mock('node:dns/promises', async (original) => ({
  ...(await original<typeof import('node:dns/promises')>()),
  lookup: async (host: string) => {
    asked.push(host);
    return [{ address: host.startsWith('loop') ? '127.0.0.1' : '192.0.2.7', family: 4 }];
  },
}));

let ground: LearningGround;

beforeAll(async () => {
  ground = await makeLearningGround([], {}, ['*.corp.example', 'vault.example']);
  expect(await ground.startLearning('learner')).toBe(204);
});

afterAll(() => ground.close());

describe('learning leads nowhere but to public addresses', () => {
  test.each(['loop.example', 'inside.example'])('%s resolves inwards and is refused', async (host) => {
    expect(await ground.get(learner, `https://${host}/`)).toEqual(['502', 'upstream.address-refused']);
    expect(asked).toContain(host);
  });

  test.each(['wiki.corp.example', 'vault.example'])(
    'a name that the operator has led to an address is not unknown: %s',
    async (host) => {
      expect(await ground.get(learner, `https://${host}/`)).toEqual(['403', 'domain.not-allowed']);
      expect(ground.upstream.seen).toEqual([]);
    },
  );

  test('a name without a dot is a name of some inside', async () => {
    expect(await ground.get(learner, 'https://intranet/')).toEqual(['403', 'domain.not-allowed']);
    expect(asked).not.toContain('intranet');
  });

  test('behind a proxy that resolves the names there is no learning', async () => {
    const gateway = await startTestGateway({
      allow: [{ host: 'a.example' }],
      upstream: { proxy: { url: 'http://127.0.0.1:9', connect: 'name' } },
    });
    try {
      await gateway.register({ id: 'learner', container_ip: learner });
      const reply = await gateway.admin('POST', '/internal/learning', { sandbox: 'learner' });
      expect(reply.status).toBe(409);
      expect(reply.body).toContain('upstream.proxy resolves the names');
    } finally {
      await gateway.stop();
    }
  });
});
