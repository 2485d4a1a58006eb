import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DashboardTaken, startDashboard } from '../../../../src/gateway/dashboard/dashboard-server.ts';
import type { FeedBatch, PageState, RequestDetail } from '../../../../src/gateway/dashboard/shapes.ts';
import type { Question } from '../../../../src/path/approvals.ts';
import { eventually } from '../../../support/eventually.ts';
import type { PageClient } from '../../../support/page-client.ts';
import { aQuestion, type PageGround, startPageGround } from '../../../support/page-ground.ts';

let ground: PageGround;
let page: PageClient;

beforeAll(async () => {
  ground = await startPageGround();
  page = await ground.enter();
});

afterAll(() => ground.stop());

describe('a person who came in by an address sees the gateway', () => {
  test('the page, its files, and nothing that is not a file of it', async () => {
    expect((await page.get('/')).body).toContain('<title>the page</title>');
    expect((await page.get('/page.js')).headers['content-type']).toBe('text/javascript; charset=utf-8');
    for (const path of ['/package.json', '/../package.json', '/%2e%2e/package.json', '/page.js/', '/toString'])
      expect((await page.get(path)).status).toBe(404);
  });

  test('the state has every part of its shape', async () => {
    await ground.ports.register({ id: 'learner', container_ip: '10.0.0.9', proof: ['ip'], repos: ['o/r'] });
    ground.feed({ id: 'seen', sandbox: 'learner', verdict: 'refused', code: 'domain.not-allowed', rule: 'allow[1]' });
    const state: PageState = await page.state();
    expect(state.gateway).toMatchObject({ version: '0.0.0', ready: true });
    expect(state.sandboxes).toMatchObject([
      {
        id: 'learner',
        proof: ['ip'],
        address: '10.0.0.9',
        isLearning: true,
        load: { requests: 1, refused: 1, bytes: 30 },
      },
    ]);
    expect(state.refusals).toMatchObject([{ code: 'domain.not-allowed', rule: 'allow[1]', count: 1, place: null }]);
    expect(state.traffic.points.at(-1)?.requests).toBeGreaterThanOrEqual(0);
    expect(state.requests[0]).toMatchObject({ id: 'seen', verdict: 'refused' });
  });

  test('one request opened up, and one that is long gone', async () => {
    ground.feed({ id: 'one', path: '/opened' });
    const detail = (await page.get('/api/requests/one')).json<RequestDetail>();
    expect(detail.record).toMatchObject({ id: 'one', path: '/opened' });
    const gone = await page.get('/api/requests/nothing');
    expect(gone.status).toBe(404);
    expect(gone.json()).toMatchObject({ hint: expect.stringContaining('sallyport logs') });
  });

  test('requests, questions and parts come by themselves, and while the page is open somebody watches', async () => {
    expect(ground.watching.count).toBe(0);
    const stream = await page.listen();
    expect(ground.watching.count).toBe(1);
    ground.feed({ id: 'live' });
    const batch = await stream.until<FeedBatch>('requests', ({ lines }) => lines.some(({ id }) => id === 'live'));
    expect(batch.seen).toBe(batch.shown);
    ground.questions.push(aQuestion({ reason: 'to fetch the docs' }));
    ground.tellQuestions();
    const told = await stream.until<Question[]>('questions', (questions) => questions.length === 1);
    expect(told[0]).toMatchObject({ id: 'q1', reason: 'to fetch the docs' });
    stream.close();
    await eventually(() => ground.watching.count === 0, 'nobody watches any more');
  });
});

describe('a person who came in can act', () => {
  test('answers carry who gave them, and always needs the very line that was shown', async () => {
    const answer = (body: unknown) => page.post('/api/questions/q1', body);
    expect((await answer({ answer: 'deny' })).json()).toEqual({ said: 'q1 is answered' });
    await answer({ answer: 'approve', for: 'minutes', minutes: 15, scope: 'host' });
    const line = (await page.get('/api/questions/q1/line?scope=host')).json<{ text: string }>();
    const agreed = { answer: 'approve', for: 'always', scope: 'host', line: line.text };
    expect((await answer(agreed)).status).toBe(200);
    expect(ground.answers).toEqual([
      { answer: 'deny', by: 'the dashboard' },
      { answer: 'approve', for: 'minutes', minutes: 15, scope: 'host', by: 'the dashboard' },
      { ...agreed, by: 'the dashboard' },
    ]);
    const moved = await answer({ ...agreed, line: '  - host: another.example\n' });
    expect(moved.status).toBe(409);
    expect(moved.json()).toMatchObject({ line: { text: '  - host: host.example\n', line: 7 } });
    expect(ground.answers).toHaveLength(3);
  });

  test('what is no answer is refused in words', async () => {
    const before = ground.answers.length;
    for (const body of [
      {},
      { answer: 'approve' },
      { answer: 'approve', for: 'minutes', minutes: 0, scope: 'path' },
      { answer: 'approve', for: 'minutes', minutes: 1441, scope: 'path' },
      { answer: 'deny', by: 'somebody else' },
      { answer: 'approve', for: 'always', scope: 'path' },
    ])
      expect((await page.post('/api/questions/q1', body)).status).toBe(400);
    expect((await page.post('/api/questions/q1', { answer: 'x'.repeat(17 * 1024) })).status).toBe(413);
    expect((await page.get('/api/questions/q1/line?scope=all')).status).toBe(400);
    expect(ground.answers).toHaveLength(before);
  });

  test('a sandbox is revoked by its id alone, and who has not confirmed it is named', async () => {
    await ground.ports.register({ id: 'doomed', container_ip: '10.0.0.7' });
    expect((await page.post('/api/sandboxes/10.0.0.7/revoke')).status).toBe(404);
    expect(ground.ports.records.has('doomed')).toBe(true);
    ground.ports.unconfirmed = ['gateway-b'];
    const gone = await page.post('/api/sandboxes/doomed/revoke');
    expect(gone.json()).toEqual({ unconfirmed: ['gateway-b'] });
    expect(ground.ports.records.has('doomed')).toBe(false);
    expect((await page.post('/api/sandboxes/doomed/revoke')).status).toBe(404);
  });

  test('an approval is ended, once', async () => {
    expect((await page.post('/api/approvals/a1/end')).status).toBe(200);
    expect((await page.post('/api/approvals/a2/end')).status).toBe(404);
  });

  test('to leave ends the session and the pages it has open', async () => {
    const other = await ground.enter();
    const stream = await other.listen();
    expect((await other.post('/api/leave')).headers['set-cookie']?.[0]).toContain('Max-Age=0');
    await eventually(() => stream.isOver, 'its stream has ended');
    expect((await other.get('/api/state')).status).toBe(401);
    expect((await page.get('/api/state')).status).toBe(200);
  });
});

test('a port that is taken is said in words that name the key', async () => {
  const { port } = new URL(ground.dashboard.origin);
  const again = startDashboard({
    listen: { host: '127.0.0.1', port: Number(port) },
    assets: new Map(),
    ports: ground.ports,
    policy: () => {
      throw new Error('nobody asks');
    },
    isLearning: () => false,
    subscribe: () => null,
    watch: () => {},
    onFault: () => {},
  });
  await expect(again).rejects.toThrow(DashboardTaken);
  await expect(again).rejects.toThrow(/listen\.dashboard/);
});
