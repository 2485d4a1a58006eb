// A sandbox that goes away before the answer says what it cost: it counts all the same.
import type { Http2ServerResponse } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BudgetGround, openBudgetGround } from '../../support/budget-ground.ts';

const start = {
  type: 'message_start',
  message: { model: 'claude-sonnet-4-5', usage: { input_tokens: 400, output_tokens: 1 } },
};
const delta = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'x'.repeat(800) } };

let ground: BudgetGround;
let asked = 0;

beforeAll(async () => {
  ground = await openBudgetGround(
    { budgets: { sandbox: { tokens: 500 } } },
    (request, response: Http2ServerResponse) => {
      asked++;
      // Never ends by itself.
      if (request.headers['x-silent'] !== undefined) return;
      response.setHeader('content-type', 'text/event-stream');
      if (request.headers['x-background'] !== undefined) {
        response.write(`data: ${JSON.stringify({ type: 'response.output_text.delta', delta: 'x'.repeat(2400) })}\n\n`);
        return;
      }
      response.write(`data: ${JSON.stringify(start)}\n\ndata: ${JSON.stringify(delta)}\n\n`);
    },
  );
});

afterAll(() => ground.stop());

describe('an answer that the sandbox does not wait for counts', () => {
  test('what was said of it until then, and an estimate for the text that came', async () => {
    const sandbox = await ground.sandbox();
    const before = asked;
    await sandbox.cutOff({}, 'xxx', () => asked > before);
    const [record] = await sandbox.records(1);
    expect(record).toMatchObject({ verdict: 'abandoned', tokens_in: 400, tokens_estimated: true });
    expect(record!.tokens_out).toBeGreaterThanOrEqual(200);
    expect((await sandbox.ask()).status).toBe(429);
  });

  test('before anything came of it: an estimate', async () => {
    const sandbox = await ground.sandbox();
    const before = asked;
    await sandbox.cutOff({ headers: { 'x-silent': '1' }, body: 'x'.repeat(400) }, null, () => asked > before);
    expect((await sandbox.records(1))[0]).toMatchObject({
      verdict: 'abandoned',
      tokens_in: 100,
      tokens_estimated: true,
    });
    expect((await sandbox.ask()).status).toBe(429);
  });

  test('one that was begun in the background, and is fetched up to where it would say its cost', async () => {
    const sandbox = await ground.sandbox();
    const before = asked;
    const asking = { host: 'api.openai.com', path: '/v1/responses/resp_1?stream=true', method: 'GET', body: '' };
    await sandbox.cutOff({ ...asking, headers: { 'x-background': '1' } }, 'xxx', () => asked > before);
    expect((await sandbox.records(1))[0]).toMatchObject({ tokens_in: 0, tokens_out: 600, tokens_estimated: true });
    expect((await sandbox.ask()).status).toBe(429);
  });
});
