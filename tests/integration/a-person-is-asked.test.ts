import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApprovalGround, openApprovalGround, type Watcher } from '../support/approval-ground.ts';
import { eventually } from '../support/eventually.ts';
import { askInside } from '../support/inside-client.ts';
import { startClient } from '../support/run-client.ts';
import { askHttp2, openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

let ground: ApprovalGround;
let watcher: Watcher | null = null;

beforeAll(async () => {
  ground = await openApprovalGround({ limits: { concurrent_requests: 2 } });
  await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
});

afterAll(() => ground.stop());

beforeEach(() => {
  ground.upstream.seen.length = 0;
});

describe('where nobody looks on', () => {
  test('it is refused at once, in words, and nothing reaches the far side', async () => {
    const run = await ground.curl('https://ask.example/x');
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'approval.unwatched', rule: 'allow[0]' });
    expect(ground.connections).toBe(0);
  });
});

describe('a request that a rule asks about waits for a person', () => {
  beforeAll(async () => {
    watcher = await ground.watch();
  });

  test('approved once it passes as it was asked, and the next one is asked about again', async () => {
    const before = ground.connections;
    const run = ground.curl('https://ask.example/v1/things?q=1', '-d', 'hello');
    const [question] = await ground.waiting();
    expect(question).toMatchObject({
      sandbox: 'asker',
      method: 'POST',
      scheme: 'https',
      host: 'ask.example',
      port: 443,
      path: '/v1/things',
      rule: 'allow[0]',
      credential: null,
      inVain: null,
    });
    expect(ground.connections).toBe(before);
    const reply = await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect(JSON.parse(reply.body)).toEqual({ said: 'approved once: POST https://ask.example/v1/things' });
    expect(JSON.parse((await run).stdout)).toMatchObject({ method: 'POST', url: '/v1/things?q=1', body: 'hello' });
    const again = ground.curl('https://ask.example/v1/things?q=1', '-d', 'hello');
    const [second] = await ground.waiting();
    await ground.answer(second!.id, { answer: 'deny' });
    expect(JSON.parse((await again).stdout)).toMatchObject({ code: 'approval.denied' });
    expect(ground.upstream.seen).toHaveLength(1);
  });

  test('who looks on hears of the question, of the answer and of the request, and the journal keeps them', async () => {
    const run = ground.curl('https://ask.example/seen');
    const [question] = await ground.waiting();
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    await run;
    const ofIt = (event: string) =>
      watcher!.events.find((one) => one.event === event && (one.data as { id: string }).id === question!.id);
    await eventually(() => ofIt('answered'), 'the answer is told');
    expect(ofIt('question')).toBeDefined();
    const records = await eventually(async () => {
      const found = (await ground.gateway.journal()).filter(
        ({ id, request }) => id === question!.requestId || request === question!.requestId,
      );
      return found.length === 2 ? found : null;
    }, 'both are written down');
    const by = `user ${process.getuid!()} on the admin socket`;
    expect(records[0]).toMatchObject({ note: 'approval', sandbox: 'asker', by, answer: 'approve once' });
    const steps = records[1]!.trail as [string, number, string][];
    expect(steps.map(([stage]) => stage)).toEqual(['accept', 'identify', 'ask', 'authorize', 'inject', 'forward']);
    expect(steps[2]![2]).toBe(`approve once by ${by}`);
  });

  test('approved for minutes, it and its like pass; the approval is listed, and can be taken back', async () => {
    const [one, two] = [ground.curl('https://ask.example/m'), ground.curl('https://ask.example/m')];
    const [question] = await ground.waiting(2);
    await ground.answer(question!.id, { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path' });
    expect(JSON.parse((await one).stdout)).toMatchObject({ url: '/m' });
    expect(JSON.parse((await two).stdout)).toMatchObject({ url: '/m' });
    expect(JSON.parse((await ground.curl('https://ask.example/m')).stdout)).toMatchObject({ url: '/m' });
    const { approvals } = (await ground.gateway.admin('GET', '/internal/approvals')).json<{
      approvals: { id: string }[];
    }>();
    expect(approvals).toMatchObject([{ sandbox: 'asker', covers: { host: 'ask.example', method: 'GET', path: '/m' } }]);
    expect((await ground.gateway.admin('DELETE', `/internal/approvals/${approvals[0]!.id}`)).status).toBe(204);
    const again = ground.curl('https://ask.example/m');
    const [asked] = await ground.waiting();
    await ground.answer(asked!.id, { answer: 'deny' });
    expect((await again).stdout).toContain('approval.denied');
  });

  test.each([
    ['', ''],
    [' in the middle of its body', 'x'.repeat(5_000_000)],
  ])('the client that leaves%s takes its question with it', async (_when, input) => {
    const { proxyUrl, caPath } = ground.gateway;
    const body = input === '' ? [] : ['--data-binary', '@-', '-H', 'Expect:'];
    const args = ['-sS', '-x', proxyUrl, '--cacert', caPath, 'https://ask.example/left', ...body];
    const client = startClient('curl', args, { input });
    const [question] = await ground.waiting();
    client.kill();
    await ground.waiting(0);
    expect((await ground.answer(question!.id, { answer: 'approve', for: 'once' })).status).toBe(404);
    expect(ground.upstream.seen).toHaveLength(0);
  });

  test('over HTTP/2 it waits too, and its body follows', async () => {
    const session = await openHttp2(ground.gateway, 'ask.example', { caPath: ground.gateway.caPath });
    const held = askHttp2(session, { ':path': '/h2', ':method': 'POST' }, 'body');
    const [question] = await ground.waiting();
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    const { headers, body } = await held;
    expect(headers[':status']).toBe(200);
    expect(JSON.parse(body.toString())).toMatchObject({ url: '/h2', body: 'body' });
    session.close();
  });

  test('a body is not taken before the answer, and arrives whole after it', async () => {
    const body = 'u'.repeat(2_000_000);
    const wire = new Wire(await openTls(ground.gateway, 'ask.example:443', { caPath: ground.gateway.caPath }));
    wire.send(
      `POST /up HTTP/1.1\r\nHost: ask.example\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    const [question] = await ground.waiting();
    expect(wire.received).toBe('');
    expect(ground.upstream.seen).toHaveLength(0);
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect(await wire.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    wire.send(body);
    expect(await wire.until('\r\n')).toBe('HTTP/1.1 200 OK\r\n');
    expect(ground.upstream.seen.at(-1)!.body.length).toBe(body.length);
    wire.socket.destroy();
  });

  test('those that wait take no place: others of the same sandbox go on', async () => {
    const held = Array.from({ length: 4 }, (_, i) => ground.curl(`https://ask.example/held/${i}`));
    const questions = await ground.waiting(4);
    expect(JSON.parse((await ground.curl('https://open.example/free')).stdout)).toMatchObject({ url: '/free' });
    for (const { id } of questions) await ground.answer(id, { answer: 'deny' });
    for (const run of await Promise.all(held)) expect(run.stdout).toContain('approval.denied');
  });

  test('an undecrypted tunnel waits as well', async () => {
    const before = ground.connections;
    const run = ground.curl('https://pinned.example/inside', '--cacert', ground.ca.path);
    const [question] = await ground.waiting();
    expect(question).toMatchObject({ host: 'pinned.example', path: '', method: 'CONNECT' });
    expect(ground.connections).toBe(before);
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect(JSON.parse((await run).stdout)).toMatchObject({ url: '/inside' });
  });

  test('an agent can ask for such a tunnel ahead of time, and it passes when it is approved', async () => {
    const body = { url: 'https://pinned.example/ahead', reason: 'its certificate is pinned' };
    expect((await askInside(ground.gateway, 'POST /requests', { body })).status).toBe(202);
    const [question] = await ground.waiting();
    expect(question).toMatchObject({ host: 'pinned.example', path: '', method: 'CONNECT', reason: body.reason });
    await ground.answer(question!.id, { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path' });
    const run = await ground.curl('https://pinned.example/ahead', '--cacert', ground.ca.path);
    expect(JSON.parse(run.stdout)).toMatchObject({ url: '/ahead' });
  });

  test('a sandbox that is revoked while it waits is answered nothing, and nothing is sent on', async () => {
    const run = ground.curl('https://ask.example/revoked');
    const [question] = await ground.waiting();
    await ground.gateway.admin('DELETE', '/internal/containers/asker');
    expect((await run).code).not.toBe(0);
    await ground.waiting(0);
    expect((await ground.answer(question!.id, { answer: 'approve', for: 'once' })).status).toBe(404);
    expect(ground.upstream.seen).toHaveLength(0);
    await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  });
});

describe('a gateway that ends', () => {
  test('tells who waits, and does not only cut it off', async () => {
    const run = ground.curl('https://ask.example/at-the-end');
    await ground.waiting();
    const stopped = ground.stop();
    expect(JSON.parse((await run).stdout)).toMatchObject({ code: 'approval.unanswered' });
    await stopped;
  });
});
