// A sandbox that keeps one WebSocket open and asks on it for ever, where every new request would be refused.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type BudgetGround, openBudgetGround } from '../../support/budget-ground.ts';
import { eventually } from '../../support/eventually.ts';

const silent = '{"type":"response.create","input":"what takes long"}';

let ground: BudgetGround;
let asked = 0;

beforeAll(async () => {
  ground = await openBudgetGround({ budgets: { sandbox: { tokens: 500 } } }, (_request, response) =>
    response.end('{}'),
  );
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  ground.upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('message', (data: Buffer) => {
        asked++;
        if (data.toString() === silent) return;
        const usage = { input_tokens: 200, input_tokens_details: { cached_tokens: 0 }, output_tokens: 100 };
        webSocket.send(JSON.stringify({ type: 'response.completed', response: { model: 'gpt-5', usage } }));
      });
    });
  });
});

afterAll(() => ground.stop());

test('a question whose answer is not waited for counts too', async () => {
  const sandbox = await ground.sandbox();
  asked = 0;
  const socket = new WebSocket('wss://api.openai.com/v1/responses', { agent: sandbox.agent });
  socket.on('error', () => {});
  socket.on('open', () => socket.send(silent));
  await eventually(() => asked > 0, 'the question to arrive');
  socket.terminate();
  expect((await sandbox.records(1))[0]).toMatchObject({ kind: 'websocket', tokens_out: 1000, tokens_estimated: true });
  expect((await sandbox.ask()).status).toBe(429);
});

test.each([true, false])('compressed: %s', async (perMessageDeflate) => {
  const sandbox = await ground.sandbox();
  asked = 0;
  const socket = new WebSocket('wss://api.openai.com/v1/responses', { agent: sandbox.agent, perMessageDeflate });
  let answers = 0;
  const closed = new Promise<string>((resolve) =>
    socket.on('close', (code, reason) => resolve(`${code} ${reason.toString()}`)),
  );
  socket.on('error', () => {});
  socket.on('open', () => socket.send('{"type":"response.create"}'));
  socket.on('message', () => {
    answers++;
    socket.send('{"type":"response.create"}');
  });
  // Its connection ends in words, not in a cut.
  expect(await closed).toMatch(/^1008 .*budget/);
  // The second answer used the budget up; the third question was not passed on.
  expect([asked, answers]).toEqual([2, 2]);
  expect((await sandbox.records(1))[0]).toMatchObject({
    kind: 'websocket',
    verdict: 'refused',
    code: 'budget.tokens',
    tokens_in: 400,
    tokens_out: 200,
    model: 'gpt-5',
  });
  expect((await sandbox.ask()).status).toBe(429);
});
