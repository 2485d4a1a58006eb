// Guards: a refresh token that its endpoint has taken, and whose successor comes when the gateway is about to go or has just
// read another configuration. Losing it loses the login.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { startClient } from '../../support/run-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

let folder: string;
let file: string;
let login: FakeUpstream;
let gateway: TestGateway;
let answer: () => void;
let config: Record<string, unknown>;

beforeEach(async () => {
  const ca = makeTestCa();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-stops-'));
  file = join(folder, 'refresh');
  writeFileSync(file, 'refresh-token-0', { mode: 0o600 });
  login = await startFakeUpstream(ca, ['login.example'], (_request, response) => {
    answer = () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ access_token: 'access-token-1', refresh_token: 'refresh-token-1' }));
    };
  });
  const oauth = {
    token_url: 'https://login.example/token',
    grant: 'refresh_token',
    client_id: 'the-client',
    client_auth: 'none',
    refresh_token: { file },
  };
  config = {
    allow: [{ host: 'api.example' }],
    credentials: { one: { hosts: ['api.example'], inject: { bearer: true }, source: { oauth } } },
    upstream: { resolve: { 'login.example': login.address }, ca: ca.path },
  };
  gateway = await startTestGateway(config);
  await gateway.register();
  // A client that asks and goes away: nobody waits for the token any more.
  const common = ['-sS', '-x', gateway.proxyUrl, '--cacert', gateway.caPath];
  const client = startClient('curl', [...common, 'https://api.example/']);
  await eventually(() => login.seen.length === 1, 'the login is being renewed');
  client.kill();
  await client.ended;
});
afterEach(async () => {
  await login.close();
  rmSync(folder, { recursive: true });
});

test('what comes while it stops is saved before it is gone', async () => {
  const stopped = gateway.stop();
  setTimeout(answer, 500);
  await stopped;
  expect(readFileSync(file, 'utf8')).toBe('refresh-token-1');
});

test('what comes after another configuration was read is saved, also when the credential is no longer in it', async () => {
  gateway.writeConfig({ ...config, credentials: {} });
  await gateway.gateway.reload();
  answer();
  await eventually(() => readFileSync(file, 'utf8') === 'refresh-token-1', 'the new refresh token is saved');
  await gateway.stop();
  expect(login.seen).toHaveLength(1);
});
