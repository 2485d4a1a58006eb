import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { PolicyLine } from '../../src/gateway/admin/admin-ports.ts';
import { type ApprovalGround, openApprovalGround } from '../support/approval-ground.ts';
import { eventually } from '../support/eventually.ts';
import { askHttp2, openHttp2, TunnelAgent } from '../support/tunnel-client.ts';

let ground: ApprovalGround;

beforeAll(async () => {
  ground = await openApprovalGround({}, (request, response) => {
    if (request.url !== '/events') return response.end(`reached ${request.url}`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: one\n\n');
    response.end('data: two\n\n');
    return undefined;
  });
  const sockets = new WebSocketServer({ noServer: true });
  ground.upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (far) => far.on('message', (data) => far.send(`echo ${data}`)));
  });
  // As a person writes it.
  const text = readFileSync(ground.gateway.configPath, 'utf8');
  writeFileSync(ground.gateway.configPath, text.replace('allow:\n', '# Ours, with care.\nallow:\n'));
  await ground.gateway.gateway.reload();
  await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  await ground.watch();
});

afterAll(() => ground.stop());

describe('approved always is a line of the policy', () => {
  test('it is shown, must be sent back as shown, is written with everything else as it was, and holds', async () => {
    const before = readFileSync(ground.gateway.configPath, 'utf8');
    const run = ground.curl('https://ask.example/v1/always');
    const [question] = await ground.waiting();
    const path = `/internal/questions/${question!.id}`;
    const always = { answer: 'approve', for: 'always', scope: 'path' };
    const unseen = await ground.answer(question!.id, always);
    expect(unseen.status).toBe(409);
    const shown = (await ground.gateway.admin('GET', `${path}/line?scope=path`)).json<PolicyLine>();
    expect(shown.text).toContain('ask.example');
    expect(shown.covers).toContain('GET https://ask.example/v1/always, with any query, plain or as a WebSocket');
    expect(JSON.parse(unseen.body).hint).toContain(shown.text);
    expect((await ground.answer(question!.id, { ...always, line: `${shown.text} ` })).status).toBe(409);
    expect(readFileSync(ground.gateway.configPath, 'utf8')).toBe(before);
    expect(await ground.answer(question!.id, { ...always, line: shown.text })).toMatchObject({ status: 200 });
    expect((await run).stdout).toBe('reached /v1/always');
    const after = readFileSync(ground.gateway.configPath, 'utf8');
    expect(after).toContain('# Ours, with care.');
    expect(after.split('\n').filter((line) => !before.split('\n').includes(line))).toHaveLength(1);
    expect((await ground.curl('https://ask.example/v1/always')).stdout).toBe('reached /v1/always');
    const other = ground.curl('https://ask.example/v1/another');
    const [asked] = await ground.waiting();
    await ground.answer(asked!.id, { answer: 'deny' });
    expect((await other).stdout).toContain('approval.denied');
  });
});

describe('what comes after the answer passes as it always does', () => {
  test('a WebSocket opens and talks', async () => {
    const agent = new TunnelAgent(ground.gateway, ground.gateway.caPath);
    const socket = new WebSocket('wss://other.example/live', { agent });
    const opened = new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const [question] = await ground.waiting();
    expect(question!.method).toBe('GET (WebSocket)');
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    await opened;
    const echoed = new Promise<string>((resolve) => socket.once('message', (data) => resolve(String(data))));
    socket.send('hello');
    expect(await echoed).toBe('echo hello');
    socket.terminate();
    agent.destroy();
  });

  test('an event stream comes event by event', async () => {
    const run = ground.curl('https://other.example/events', '-N');
    const [question] = await ground.waiting();
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect((await run).stdout).toBe('data: one\n\ndata: two\n\n');
  });
});

describe('a hundred that wait', () => {
  test('slow nobody down, get each its own answer, and one more is too many', async () => {
    const session = await openHttp2(ground.gateway, 'other.example', { caPath: ground.gateway.caPath });
    const ask = (i: number) => askHttp2(session, { ':path': `/many/${i}` });
    const held = Array.from({ length: 100 }, (_, i) => ask(i));
    const questions = await ground.waiting(100);
    const tooMany = JSON.parse((await ask(100)).body.toString()) as object;
    expect(tooMany).toMatchObject({ code: 'approval.too-many' });
    for (let i = 0; i < 5; i++) {
      expect((await ground.curl(`https://open.example/free/${i}`)).stdout).toBe(`reached /free/${i}`);
    }
    const approved = new Set<string>();
    for (const [at, { id, path }] of questions.entries()) {
      if (at % 2 === 0) approved.add(path);
      const reply = await ground.answer(id, at % 2 === 0 ? { answer: 'approve', for: 'once' } : { answer: 'deny' });
      expect(reply.status).toBe(200);
    }
    for (const [i, { headers, body }] of (await Promise.all(held)).entries()) {
      const isApproved = approved.has(`/many/${i}`);
      expect(headers[':status']).toBe(isApproved ? 200 : 403);
      expect(body.toString()).toContain(isApproved ? `reached /many/${i}` : 'approval.denied');
    }
    session.close();
  });
});

describe('a policy that changes while a request waits', () => {
  test('no answer in time is a no, by the time that is set when it is asked', async () => {
    const text = readFileSync(ground.gateway.configPath, 'utf8');
    writeFileSync(ground.gateway.configPath, `${text}\napprovals: { answer_within_seconds: 1 }\n`);
    await ground.gateway.gateway.reload();
    const run = await ground.curl('https://other.example/late');
    expect(JSON.parse(run.stdout)).toMatchObject({
      code: 'approval.unanswered',
      rule: expect.stringMatching(/^allow/),
    });
    const note = await eventually(
      async () => (await ground.gateway.journal()).find(({ answer }) => answer === 'unanswered'),
      'it is written down',
    );
    expect(note).toMatchObject({ note: 'approval', sandbox: 'asker', by: null });
    writeFileSync(ground.gateway.configPath, text);
    await ground.gateway.gateway.reload();
  });

  test('and forbids it holds, whatever the person says', async () => {
    const run = ground.curl('https://other.example/forbidden');
    const [question] = await ground.waiting();
    ground.gateway.writeConfig({ allow: [{ host: 'open.example' }] });
    await ground.gateway.gateway.reload();
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect(JSON.parse((await run).stdout)).toMatchObject({ code: 'domain.not-allowed' });
    expect(ground.upstream.seen.filter(({ url }) => url === '/forbidden')).toEqual([]);
  });
});
