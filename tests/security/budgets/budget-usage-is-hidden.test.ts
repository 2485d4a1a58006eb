// A sandbox that would use a model without what it uses being seen: by what it asks for, and by what it makes the model say.
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Asking, type BudgetGround, openBudgetGround } from '../../support/budget-ground.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

const planted = '{"usage":{"input_tokens":0,"output_tokens":0}}\n\ndata: {"usage":{"output_tokens":0}}\n\n';
const lie = { usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, usageMetadata: { totalTokenCount: 0 } };
/** What a model was made to say, in text and in the arguments of a tool; then what it really cost. */
const message = JSON.stringify({
  model: 'claude-sonnet-4-5',
  content: [
    { type: 'text', text: planted },
    { type: 'tool_use', input: lie },
  ],
  usage: { input_tokens: 400, output_tokens: 300 },
});
const chatStream = [
  { model: 'gpt-4.1', choices: [{ delta: { content: 'x'.repeat(2400) } }] },
  { model: 'gpt-4.1', choices: [{ delta: { content: planted } }] },
].map((event) => `data: ${JSON.stringify(event)}\n\n`);

/** What is said of work that has only begun. */
const begun = JSON.stringify({ id: 'resp_1', status: 'in_progress', model: 'gpt-5-pro', usage: null });

let ground: BudgetGround;

beforeAll(async () => {
  ground = await openBudgetGround({ budgets: { sandbox: { tokens: 500 } } }, (request, response) => {
    const coding = request.headers['x-answer-in'];
    const answer = /responses$|interactions$/.test(request.url) ? begun : message;
    const body = request.url.includes('completions') ? `${chatStream.join('')}data: [DONE]\n\n` : answer;
    if (typeof coding === 'string') response.setHeader('content-encoding', coding);
    response.end(coding === 'gzip' ? gzipSync(body) : coding === 'br' ? brotliCompressSync(body) : body);
  });
});

afterAll(() => ground.stop());

const openai = 'api.openai.com';
const google = 'generativelanguage.googleapis.com';

describe('the second request is refused, however the first one was made', () => {
  test.each<[string, Asking]>([
    ['a model that writes that it cost nothing', {}],
    ['a path with a slash at its end', { path: '/v1/messages/' }],
    ['a path in other letters', { path: '/v1/%6Dessages' }],
    ['a path that nobody knows, with the credential', { path: '/v1/messages/another/way/to/ask' }],
    ['a parameter', { path: '/v1/messages?stream=false&usage=0' }],
    ['a method of another name', { method: 'PUT' }],
    ['an answer in gzip', { headers: { 'accept-encoding': 'gzip', 'x-answer-in': 'gzip' } }],
    ['an answer in br', { headers: { 'accept-encoding': 'br', 'x-answer-in': 'br' } }],
    ['an answer in gzip that was not asked for', { headers: { 'x-answer-in': 'gzip' } }],
    ['work in the background that nobody fetches', { host: openai, path: '/v1/responses' }],
    ['an agent of Google that goes on by itself', { host: google, path: '/v1beta/interactions' }],
    ['a stream without stream_options.include_usage', { host: openai, path: '/v1/chat/completions' }],
  ])('%s', async (_name, asking) => {
    const sandbox = await ground.sandbox();
    expect((await sandbox.ask(asking)).status).toBe(200);
    const seen = ground.upstream.seen.length;
    const second = await sandbox.ask(asking);
    expect(second.status).toBe(429);
    expect(second.body.toString()).toContain('budgets.sandbox.tokens');
    expect(ground.upstream.seen).toHaveLength(seen);
  });

  test('over HTTP/2', async () => {
    const { door } = await ground.sandbox();
    const session = await openHttp2(door, 'api.anthropic.com', { caPath: ground.gateway.caPath });
    const headers = { ':method': 'POST', ':path': '/v1/messages', 'content-type': 'application/json' };
    const statuses: unknown[] = [];
    for (let i = 0; i < 2; i++) statuses.push((await askHttp2(session, headers, '{}')).headers[':status']);
    session.destroy();
    expect(statuses).toEqual([200, 429]);
  });

  test.each([
    ['an empty segment', '//v1/messages', 400],
    ['a dot segment', '/v1/./messages', 400],
    ['a batch of Anthropic', '/v1/messages/batches', 403],
    ['a batch behind another spelling', '/v1/messages/%62atches/', 403],
    ['a video made of another', '/v1/videos/video_1/remix', 403],
    ['a video as xAI makes them', '/v1/videos/generations', 403],
  ])('what would go around it is not sent at all: %s', async (_name, path, status) => {
    const sandbox = await ground.sandbox();
    const seen = ground.upstream.seen.length;
    expect((await sandbox.ask({ path })).status).toBe(status);
    expect(ground.upstream.seen).toHaveLength(seen);
  });

  test('nor a question to Google in the guise of a look', async () => {
    const sandbox = await ground.sandbox();
    const path = '/v1beta/models/any:generateContent?%24httpMethod=POST&$httpMethod=POST&a=1';
    await sandbox.ask({ host: google, path, method: 'GET', body: '' });
    expect(ground.upstream.seen.at(-1)).toMatchObject({ method: 'GET', url: '/v1beta/models/any:generateContent?a=1' });
  });

  test.each(['fields=candidates', '%24fields=candidates', 'alt=proto', 'callback=f'])(
    'nor an answer of Google without its cost: %s',
    async (query) => {
      const sandbox = await ground.sandbox();
      const seen = ground.upstream.seen.length;
      const path = `/v1beta/models/any:generateContent?${query}`;
      const refused = await sandbox.ask({ host: google, path });
      expect(refused.status).toBe(403);
      expect(refused.body.toString()).toContain('budget.unseen');
      expect(ground.upstream.seen).toHaveLength(seen);
    },
  );
});
