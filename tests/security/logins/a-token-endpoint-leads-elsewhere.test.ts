// Guards: a refresh token or a client's secret that follows a redirect, and an endpoint that floods the gateway; the whole
// gateway, over real TLS, on a port of the operator's choosing. What the sandbox is told holds nothing of either.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Answer, type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { runClient } from '../../support/run-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const refreshToken = 'planted-refresh-token-77';
let answer: Answer;
let login: FakeUpstream;
let api: FakeUpstream;
let elsewhere: FakeUpstream;
let gateway: TestGateway;
let folder: string;
let file: string;

beforeAll(async () => {
  const ca = makeTestCa();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-token-'));
  file = join(folder, 'refresh');
  login = await startFakeUpstream(ca, ['login.example'], (...all) => answer(...all));
  api = await startFakeUpstream(ca, ['api.example', 'two.example', 'three.example']);
  elsewhere = await startFakeUpstream(ca, ['elsewhere.example']);
  const credential = (host: string) => ({
    hosts: [host],
    inject: { bearer: true },
    source: {
      oauth: {
        token_url: `https://login.example:${login.port}/token`,
        grant: 'refresh_token',
        client_id: 'the-client',
        client_auth: 'none',
        refresh_token: { file },
      },
    },
  });
  gateway = await startTestGateway({
    allow: ['api.example', 'two.example', 'three.example', 'elsewhere.example'].map((host) => ({ host })),
    credentials: { one: credential('api.example'), two: credential('two.example'), three: credential('three.example') },
    upstream: {
      resolve: {
        'login.example': login.address,
        'api.example': api.address,
        'two.example': api.address,
        'three.example': api.address,
        'elsewhere.example': elsewhere.address,
      },
      ca: ca.path,
    },
  });
  await gateway.register();
});
afterAll(async () => {
  await gateway.stop();
  for (const upstream of [login, api, elsewhere]) await upstream.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  writeFileSync(file, `${refreshToken}\n`, { mode: 0o600 });
  login.seen.length = 0;
});

function curl(host: string) {
  const common = ['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', gateway.caPath];
  return runClient('curl', [...common, `https://${host}/v1/thing`, '-H', 'authorization: Bearer x']);
}

async function expectNoToken(host: string): Promise<void> {
  const before = api.seen.length;
  const run = await curl(host);
  expect(JSON.parse(run.stdout)).toMatchObject({ code: 'credential.unreadable' });
  expect(run.stdout).not.toContain(refreshToken);
  expect(api.seen.length).toBe(before);
  expect(login.seen.map(({ url }) => url)).toEqual(['/token']);
  expect(elsewhere.seen).toEqual([]);
  expect(readFileSync(file, 'utf8')).toBe(`${refreshToken}\n`);
  const lines = JSON.stringify(await gateway.journal());
  expect(lines).toContain(host);
  expect(lines).not.toContain(refreshToken);
}

test('a redirect is not followed, and the endpoint is not asked again for every request of a sandbox', async () => {
  answer = (_request, response) => {
    response.writeHead(307, { location: 'https://elsewhere.example/token' });
    response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer' }));
  };
  await expectNoToken('api.example');
  // However many there are: a pause of seconds, then one more.
  await Promise.all(Array.from({ length: 8 }, () => curl('api.example')));
  expect(login.seen.length).toBeLessThan(4);
});

test('an answer without end is cut off', async () => {
  let sent = 0;
  answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"access_token":"');
    const pour = (): void => {
      while (!response.destroyed && sent < 200 * 1024 * 1024) {
        sent += 65_536;
        if (!response.write('x'.repeat(65_536))) {
          response.once('drain', pour);
          return;
        }
      }
    };
    pour();
  };
  await expectNoToken('two.example');
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test('an endpoint that does its work is asked once for all, and its new refresh token is in the file before the answer', async () => {
  answer = (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ access_token: 'access-token-88', refresh_token: 'refresh-token-88', token_type: 'Bearer' }),
    );
  };
  const runs = await Promise.all(Array.from({ length: 4 }, () => curl('three.example')));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(login.seen).toMatchObject([
    {
      method: 'POST',
      url: '/token',
      body: `refresh_token=${refreshToken}&grant_type=refresh_token&client_id=the-client`,
    },
  ]);
  expect(login.seen[0]?.headers).not.toHaveProperty('authorization');
  expect(api.seen.slice(-4).map(({ headers }) => headers.authorization)).toEqual(
    Array.from({ length: 4 }, () => 'Bearer access-token-88'),
  );
  expect(readFileSync(file, 'utf8')).toBe('refresh-token-88\n');
  // The upstream repeats what it got: neither token comes in.
  for (const { stdout } of runs) expect(stdout).not.toContain('token-88');
});
