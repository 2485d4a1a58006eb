import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGateway } from '../../src/gateway/service.ts';
import { createLog } from '../../src/kit/text/log.ts';
import { askOnce, type BudgetGround, openBudgetGround } from '../support/budget-ground.ts';
import type { Answer } from '../support/fake-upstream.ts';
import { eventStream, jsonAnswer } from '../support/pretend-provider.ts';
import { TunnelAgent } from '../support/tunnel-client.ts';

/** Every provider answers with 600 tokens, 100 of them its own: two answers are the whole budget, to the token. */
const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] };
const answers: Record<string, Answer> = {
  '/v1/messages': eventStream(
    [
      { type: 'message_start', message: { ...message, usage: { input_tokens: 500, output_tokens: 1 } } },
      { type: 'message_delta', delta: {}, usage: { output_tokens: 100 } },
    ],
    true,
  ),
  '/v1/responses': eventStream(
    [
      {
        type: 'response.completed',
        response: {
          id: 'resp_1',
          model: 'gpt-5-codex',
          usage: { input_tokens: 500, input_tokens_details: { cached_tokens: 400 }, output_tokens: 100 },
        },
      },
    ],
    true,
  ),
  '/v1beta/models/any:generateContent': jsonAnswer({
    candidates: [],
    usageMetadata: { promptTokenCount: 500, candidatesTokenCount: 60, thoughtsTokenCount: 40, totalTokenCount: 600 },
    modelVersion: 'gemini-2.5-pro',
  }),
};

let ground: BudgetGround;

beforeAll(async () => {
  ground = await openBudgetGround(
    { budgets: { period: 'month', sandbox: { tokens: 1200 }, gateway: { dollars: 1000 } } },
    (request, response, body) => {
      const answer = answers[request.url];
      if (answer !== undefined && body.toString() !== 'overloaded') {
        answer(request, response, body);
        return;
      }
      response.statusCode = answer === undefined ? 200 : 529;
      response.end('{}');
    },
  );
});

afterAll(() => ground.stop());

describe('a sandbox spends at the providers of models no more than its budget', () => {
  const calls = [
    { host: 'api.anthropic.com', path: '/v1/messages', model: 'claude-sonnet-4-5', cost: 0.003 },
    { host: 'api.openai.com', path: '/v1/responses', model: 'gpt-5-codex', cost: 0.001175 },
    {
      host: 'generativelanguage.googleapis.com',
      path: '/v1beta/models/any:generateContent',
      model: 'gemini-2.5-pro',
      cost: 0.001625,
    },
  ];

  test.each(calls)(
    '$host: what it cost is in the journal, and when the budget is used up there is an answer in words',
    async ({ host, path, model, cost }) => {
      const sandbox = await ground.sandbox();
      expect((await sandbox.ask({ host, path })).status).toBe(200);
      expect((await sandbox.ask({ host, path })).status).toBe(200);
      const seen = ground.upstream.seen.length;
      const refused = await sandbox.ask({ host, path });
      expect(refused.status).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(JSON.parse(refused.body.toString())).toMatchObject({
        code: 'budget.tokens',
        rule: 'budgets.sandbox.tokens',
        error: expect.stringContaining(`the sandbox ${sandbox.id} spent 1200 of 1200 tokens for this month`),
      });
      expect(ground.upstream.seen).toHaveLength(seen);

      // Everything that is no model goes on, and other sandboxes with their own budget.
      expect((await sandbox.ask({ host: 'open.example', path: '/anything' })).status).toBe(200);
      expect((await (await ground.sandbox()).ask({ host, path })).status).toBe(200);

      const [first, , third, other] = await sandbox.records(4);
      expect(first).toMatchObject({ model, tokens_in: 500, tokens_out: 100, cost_usd: cost, tokens_estimated: false });
      expect(third).toMatchObject({
        verdict: 'refused',
        code: 'budget.tokens',
        model: null,
        tokens_in: 0,
        cost_usd: 0,
      });
      expect(other).toMatchObject({ verdict: 'allowed', model: null, tokens_in: 0, tokens_out: 0 });
    },
  );

  test('an upstream that answers with an error has cost nothing', async () => {
    const sandbox = await ground.sandbox();
    for (let i = 0; i < 3; i++) expect((await sandbox.ask({ body: 'overloaded' })).status).toBe(529);
    expect((await sandbox.records(3)).map(({ tokens_in, tokens_out }) => [tokens_in, tokens_out])).toEqual(
      Array(3).fill([0, 0]),
    );
  });

  test('and what all of them cost is in the metrics', async () => {
    const sandbox = await ground.sandbox();
    await sandbox.ask();
    await sandbox.records(1);
    const { body } = await ground.gateway.admin('GET', '/internal/metrics');
    expect(body).toContain(`sallyport_sandbox_tokens_total{sandbox="${sandbox.id}"} 600`);
    expect(body).toContain(`sallyport_sandbox_cost_dollars_total{sandbox="${sandbox.id}"} 0.003`);
    expect(body).toMatch(/sallyport_tokens_total\{direction="out"\} \d+/);
  });

  // The last one: the gateway that the others use is gone.
  test('a gateway that is started anew finds in its journal what was spent before', async () => {
    const sandbox = await ground.sandbox();
    for (let i = 0; i < 2; i++) expect((await sandbox.ask()).status).toBe(200);
    await sandbox.records(2);
    const { gateway, home, configPath, caPath } = ground.gateway;
    await gateway.stop();
    const next = await startGateway({
      home: join(home, 'state'),
      config: configPath,
      log: createLog({ level: 'silent' }),
    });
    const agent = new TunnelAgent(sandbox.door, caPath);
    try {
      const refused = await askOnce(agent, {});
      expect(refused.status).toBe(429);
      expect(refused.body.toString()).toContain('spent 1200 of 1200 tokens');
    } finally {
      agent.destroy();
      await next.stop();
    }
  });
});
