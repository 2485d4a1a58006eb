import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApprovalGround, openApprovalGround } from '../../support/approval-ground.ts';
import { runClient } from '../../support/run-client.ts';

let ground: ApprovalGround;
let held: Promise<unknown>;
let id: string;
let socket: string;

beforeAll(async () => {
  ground = await openApprovalGround({ allow: [{ host: 'ask.example', ask: true }, { host: 'open.example' }] });
  await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  const own = await ground.gateway.register({ id: 'own', proof: ['socket'] });
  socket = (own.grant as { socket: string }).socket;
  await ground.watch();
  held = ground.curl('https://ask.example/x');
  id = (await ground.waiting())[0]!.id;
});

afterAll(async () => {
  await ground.answer(id, { answer: 'deny' });
  await held;
  await ground.stop();
});

const yes = '{"answer":"approve","for":"once"}';
const json = ['-H', 'Content-Type: application/json', '-d', yes];

describe('no way through a door leads to where answers are given', () => {
  test.each([
    'http://sallyport.internal/internal/questions/',
    'https://sallyport.internal/internal/questions/',
    'http://sallyport.internal/requests/',
    'http://sallyport.internal/api/questions/',
    'http://127.0.0.1/internal/questions/',
    'http://localhost/internal/questions/',
  ])('not %s', async (url) => {
    await runClient('curl', [
      ...['-sS', '-m', '5', '-x', ground.gateway.proxyUrl, '--cacert', ground.gateway.caPath, `${url}${id}`, ...json],
    ]);
    await ground.waiting(1);
    expect(ground.connections).toBe(0);
  });

  test('not the door spoken to as if it were the admin socket', async () => {
    for (const args of [[ground.gateway.proxyUrl], ['--unix-socket', socket, 'http://localhost']]) {
      const [last, ...options] = [...args].reverse();
      const run = await runClient('curl', [
        '-sS',
        '-m',
        '5',
        ...options.reverse(),
        `${last}/internal/questions/${id}`,
        ...json,
      ]);
      expect(run.stdout).not.toContain('"said"');
    }
    await ground.waiting(1);
  });

  test('not another user of the machine on the admin socket', async () => {
    const { adminSocket } = ground.gateway.gateway.summary;
    const asOther = ['--reuid=54321', '--regid=54321', '--clear-groups', 'curl', '-sS', '-m', '5'];
    const run = await runClient('setpriv', [
      ...[...asOther, '--unix-socket', adminSocket, `http://localhost/internal/questions/${id}`, ...json],
    ]);
    expect(run.stdout).not.toContain('"said"');
    await ground.waiting(1);
  });

  test('nor a web page that reaches the admin socket by another program', async () => {
    const { adminSocket } = ground.gateway.gateway.summary;
    const args = ['-sS', '--unix-socket', adminSocket, '-H', 'Origin: https://evil.example'];
    const run = await runClient('curl', [...args, `http://localhost/internal/questions/${id}`, ...json]);
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'admin.browser' });
    await ground.waiting(1);
  });
});
