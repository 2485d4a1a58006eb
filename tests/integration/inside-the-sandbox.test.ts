// http://sallyport.internal/ through the proxy door, with unmodified clients: what was refused, and asking a person for it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientEnvironment } from '../support/client-environment.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { askInside, lookOn } from '../support/inside-client.ts';
import { sendPlain } from '../support/raw-client.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../support/tunnel-client.ts';

const page = 'http://sallyport.internal';
let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['docs.example'], (_request, response) => response.end('the manual\n'));
  gateway = await startTestGateway({
    allow: [{ host: 'api.example', methods: ['GET'] }],
    upstream: { resolve: { 'docs.example': upstream.address }, ca: ca.path },
  });
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const curl = (...args: string[]): Promise<ClientRun> =>
  runClient('curl', ['-sS', '-m', '30', ...args], { env: clientEnvironment(gateway) });

async function refusedId(...args: string[]): Promise<string> {
  const { stdout } = await curl(...args);
  return (JSON.parse(stdout) as { readonly request_id: string }).request_id;
}

describe('an agent asks the door', () => {
  test('why it was refused, with any client: the same request_id', async () => {
    const id = await refusedId('-X', 'POST', 'https://api.example/v1?token=hush', '-d', 'x');
    const python = `import urllib.request as u; print(u.urlopen("https://sallyport.internal/why").read().decode())`;
    const node = `require('node:http').get({ host: '${gateway.host}', port: ${gateway.port}, path: '${page}/why/${id}',
      headers: { host: 'sallyport.internal' } }, (answer) => answer.pipe(process.stdout));`;
    const env = clientEnvironment(gateway);
    const runs = await Promise.all([
      curl(`${page}/why`),
      runClient('/usr/bin/python3', ['-c', python], { env }),
      runClient(process.execPath, ['-e', node], { env }),
    ]);
    for (const { stdout, stderr } of runs) {
      expect(stderr).toBe('');
      expect(stdout).toContain(`request: ${id}`);
      expect(stdout).toContain('POST https://api.example/v1?token=…');
      expect(stdout).toContain('to pass: Allowed there: GET.');
    }
    const [newest] = (await askInside(gateway, 'GET /why.json')).json<{ refusals: Record<string, unknown>[] }>()
      .refusals;
    expect(newest).toMatchObject({ request_id: id, code: 'method.not-allowed', rule: 'allow[0]', status: 403 });
  });

  test('over HTTP/2 and on a connection that is kept, and each is written down as a request', async () => {
    const session = await openHttp2(gateway, 'sallyport.internal', { caPath: gateway.caPath });
    const fields = { ':authority': 'sallyport.internal', ':path': '/why' };
    const [one, head, two] = await Promise.all([
      askHttp2(session, fields),
      askHttp2(session, { ...fields, ':method': 'HEAD' }),
      askHttp2(session, { ...fields, ':method': 'POST', ':path': '/nothing' }, 'x'.repeat(100_000)),
    ]);
    session.destroy();
    expect([one.headers[':status'], head.headers[':status'], two.headers[':status']]).toEqual([200, 200, 404]);
    expect([one.body.length > 0, head.body.length]).toEqual([true, 0]);
    const get = (method: string, end = ''): string =>
      `${method} ${page}/agents.md HTTP/1.1\r\nHost: sallyport.internal\r\n${end}\r\n`;
    const kept = await sendPlain(gateway, `${get('HEAD')}${get('GET')}${get('GET', 'Connection: close\r\n')}`);
    expect([kept.statuses, kept.closed]).toEqual([[200, 200, 200], true]);
    const written = (await gateway.journal()).filter(({ host }) => host === 'sallyport.internal');
    expect(written.at(-1)).toMatchObject({ verdict: 'allowed', status: 200, credential: null, upstream: null });
    expect(written.filter(({ protocol }) => protocol === 'h2')).toHaveLength(3);
  });

  test('what it may do', async () => {
    const { stdout } = await curl(`${page}/policy`);
    expect(stdout).toContain('api.example');
    expect(stdout).toContain('POST http://sallyport.internal/requests');
    expect(stdout).not.toContain(gateway.home);
    // Addresses and files are the operator's.
    expect(stdout).not.toContain(upstream.address);
  });

  test('for a host: nobody is there, then a person approves it, and it is reached', async () => {
    const asking = [
      `${page}/requests`,
      '-d',
      'url=https://docs.example/manual',
      '--data-urlencode',
      'reason=to read it',
    ];
    const nobody = await curl('-w', '%{http_code}', ...asking);
    expect(nobody.stdout).toMatch(/nobody is watching[\s\S]*sallyport watch[\s\S]*503$/);
    expect(gateway.gateway.admin.questions.list()).toEqual([]);
    const leave = lookOn(gateway.gateway);
    try {
      const asked = await curl('-w', '%{http_code}', ...asking);
      expect(asked.stdout).toMatch(/^q[a-z0-9]{5} {2}waiting {2}GET https:\/\/docs\.example\/manual\n[\s\S]*202$/);
      const [question] = gateway.gateway.admin.questions.list();
      expect(question).toMatchObject({ host: 'docs.example', path: '/manual', reason: 'to read it', requestId: null });
      expect((await curl('https://docs.example/manual')).stdout).toContain('domain.not-allowed');
      const answer = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by: 'a test' } as const;
      await gateway.gateway.admin.questions.answer(question!.id, answer);
      expect((await curl(`${page}/requests/${question!.id}`)).stdout).toMatch(/approved until/);
      expect((await curl('https://docs.example/manual')).stdout).toBe('the manual\n');
      expect((await curl('https://docs.example/other')).stdout).toContain('path.not-allowed');
      expect((await curl(...asking)).stdout).toContain('send the request');
      expect(gateway.gateway.admin.questions.list()).toEqual([]);
    } finally {
      leave();
    }
  });
});
