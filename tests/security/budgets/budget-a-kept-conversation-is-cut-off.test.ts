// Attack: have the provider keep a long conversation, ask on from there in a few words, and leave when the answer is there, just
// before it says what it cost. The sandbox did not send what the model read again, so its length must be remembered.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BudgetGround, openBudgetGround } from '../../support/budget-ground.ts';

const host = 'api.openai.com';
const path = '/v1/responses';
const kept = 30_000;
let ground: BudgetGround;
let begun = 0;

const event = (one: object): string => `data: ${JSON.stringify(one)}\n\n`;

beforeAll(async () => {
  ground = await openBudgetGround({ budgets: { sandbox: { tokens: 2 * kept } } }, (request, response) => {
    const follows = JSON.parse(String(request.headers['x-follows'] ?? 'null'));
    if (follows === null) {
      const usage = { input_tokens: kept, output_tokens: 5, total_tokens: kept + 5 };
      response.end(JSON.stringify({ id: 'resp_1', status: 'completed', model: 'gpt-5', usage }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const created = { id: 'resp_2', status: 'in_progress', model: 'gpt-5', ...follows, usage: null };
    response.write(event({ type: 'response.created', response: created }));
    response.write(event({ type: 'response.output_text.done', text: 'all of the answer' }));
    // What it cost never comes: the sandbox is gone by then.
    begun++;
  });
});

afterAll(() => ground.stop());

test.each([
  ['the answer before it', { previous_response_id: 'resp_1' }],
  ['an answer that nobody remembers', { previous_response_id: 'resp_of_long_ago' }],
  ['a conversation', { conversation: { id: 'conv_1' } }],
])('it counts with what it goes on from: %s', async (_what, follows) => {
  const sandbox = await ground.sandbox();
  expect((await sandbox.ask({ host, path })).status).toBe(200);
  const before = begun;
  const asking = { host, path, headers: { 'x-follows': JSON.stringify(follows) } };
  await sandbox.cutOff(asking, 'all of the answer', () => begun > before);
  const records = await sandbox.records(2);
  expect(records[1]).toMatchObject({ verdict: 'abandoned', tokens_estimated: true });
  expect(records[1]!.tokens_in).toBeGreaterThanOrEqual(kept);
  const refused = await sandbox.ask({ host, path });
  expect(refused.status).toBe(429);
  expect(refused.body.toString()).toContain('budgets.sandbox.tokens');
});
