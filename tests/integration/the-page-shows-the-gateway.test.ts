import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createContext } from '../../src/cli/cli-context.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import type { FeedBatch, RefusalGroup, RequestDetail } from '../../src/gateway/dashboard/shapes.ts';
import type { Question } from '../../src/path/approvals.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { askPage, PageClient, type PageListener } from '../support/page-client.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

let upstream: FakeUpstream;
let gateway: TestGateway;
let page: PageClient;
let stream: PageListener;
let id: string;

beforeAll(async () => {
  const ca = makeTestCa();
  const hosts = ['api.example.com', 'asked.example'];
  upstream = await startFakeUpstream(ca, hosts);
  gateway = await startTestGateway({
    listen: { proxy: '127.0.0.1:0', dashboard: '127.0.0.1:0' },
    allow: [
      { host: 'api.example.com', methods: ['GET'] },
      { host: 'asked.example', ask: true },
    ],
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  ({ id } = await gateway.register());
  page = await PageClient.enter((await sallyport('dashboard')).said.trim());
  stream = await page.listen();
});

afterAll(async () => {
  stream?.close();
  await gateway?.stop();
  await upstream?.close();
});

/** The command line against this gateway. */
async function sallyport(...args: string[]): Promise<{ exit: number; said: string }> {
  let said = '';
  const context = createContext({
    env: { SALLYPORT_HOME: join(gateway.home, 'state') },
    cwd: gateway.home,
    stdin: Readable.from([]),
    stdout: { write: (text: string) => (said += text) },
    stderr: { write: (text: string) => (said += text) },
  });
  return { exit: await runCommandLine(args, context), said };
}

function curl(url: string, ...more: string[]): Promise<ClientRun> {
  const usual = [
    '-sS',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}',
    '--proxy',
    gateway.proxyUrl,
    '--cacert',
    gateway.caPath,
  ];
  return runClient('curl', [...usual, ...more, url]);
}

test('the address at the start and every other one lets in once', async () => {
  const first = gateway.gateway.summary.dashboard!;
  await expect(PageClient.enter(first)).resolves.toBeDefined();
  await expect(PageClient.enter(first)).rejects.toThrow('401');
  const { address } = JSON.parse((await sallyport('dashboard', '--json')).said) as { address: string };
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/enter\?token=[\w-]{43}$/);
});

test('the page itself is there, with every file it names', async () => {
  const index = (await page.get('/')).body;
  const named = [...index.matchAll(/(?:src|href)="(\/?[\w./-]+\.(?:js|css|svg))"/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(1);
  for (const name of named) expect((await page.get(name.startsWith('/') ? name : `/${name}`)).status).toBe(200);
  expect(index).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/i);
});

test('a request is on the page as it happens, and opens up into its trail', async () => {
  expect((await curl('https://api.example.com/v1/seen')).stdout).toBe('200');
  const batch = await stream.until<FeedBatch>('requests', ({ lines }) => lines.some(({ path }) => path === '/v1/seen'));
  const line = batch.lines.find(({ path }) => path === '/v1/seen')!;
  expect(line).toMatchObject({ sandbox: id, method: 'GET', host: 'api.example.com', verdict: 'allowed', status: 200 });
  const { record, place } = (await page.get(`/api/requests/${line.id}`)).json<RequestDetail>();
  const trail = record.trail as [stage: string, microseconds: number, outcome: string][];
  expect(trail.map(([stage]) => stage)).toEqual(['accept', 'identify', 'authorize', 'inject', 'forward']);
  expect(place).toMatchObject({ file: gateway.configPath, text: expect.stringContaining('host: api.example.com') });
});

test('a refusal is grouped with the line of the policy', async () => {
  expect((await curl('https://api.example.com/v1/x', '-X', 'POST')).stdout).toBe('403');
  const groups = await stream.until<RefusalGroup[]>('refusals', (list) => list.length > 0);
  expect(groups[0]).toMatchObject({
    count: 1,
    sandboxes: [id],
    example: 'POST https://api.example.com/v1/x',
    place: { file: gateway.configPath, text: expect.stringContaining('host: api.example.com') },
  });
});

test('a request that waits is approved on the page, and its client completes', async () => {
  const waiting = curl('https://asked.example/v1/docs');
  const [question] = await stream.until<Question[]>('questions', (list) => list.length === 1);
  expect(question).toMatchObject({ sandbox: id, host: 'asked.example', path: '/v1/docs' });
  expect((await page.post(`/api/questions/${question!.id}`, { answer: 'approve', for: 'once' })).status).toBe(200);
  expect((await waiting).stdout).toBe('200');
  await stream.until<Question[]>('questions', (list) => list.length === 0);
});

test('a sandbox that is revoked on the page is refused at once', async () => {
  expect((await page.post(`/api/sandboxes/${id}/revoke`)).json()).toEqual({ unconfirmed: [] });
  const { stdout, code } = await curl('https://api.example.com/v1/seen');
  expect([stdout, code === 0]).not.toEqual(['200', true]);
  expect((await page.state()).sandboxes).toEqual([]);
});

test('when the gateway stops, the page is gone with it', async () => {
  const { origin } = page;
  await gateway.stop();
  await expect(askPage(origin, '/')).rejects.toThrow('ECONNREFUSED');
  await eventually(() => stream.isOver, 'the stream of the page ends');
});
