import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { basic } from '../support/hand-made-flow.ts';
import { RedisServer } from '../support/redis-server.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

let redis: RedisServer;
let folder: string;
let login: FakeUpstream;
let api: FakeUpstream;
let good = 'refresh-token-0';
let given = 0;
const faults: string[] = [];
const gateways: TestGateway[] = [];
let secret: string;

beforeAll(async () => {
  redis = await RedisServer.start();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-refresh-'));
  const ca = makeTestCa();
  // Takes each refresh token once, and is in no hurry: those who come meanwhile must wait for it.
  login = await startFakeUpstream(ca, ['login.example'], (_request, response, body) => {
    const shown = new URLSearchParams(body.toString()).get('refresh_token');
    const isGood = shown === good;
    if (isGood) good = `refresh-token-${++given}`;
    else faults.push(`${shown} was sent, and ${good} is in force`);
    response.statusCode = isGood ? 200 : 400;
    response.setHeader('content-type', 'application/json');
    const answer = isGood
      ? { access_token: `access-token-${given}`, token_type: 'Bearer', expires_in: 3600, refresh_token: good }
      : { error: 'invalid_grant' };
    setTimeout(() => response.end(JSON.stringify(answer)), 200);
  });
  api = await startFakeUpstream(ca, ['api.example'], (request, response) => {
    const rejected = request.headers.authorization === 'Bearer access-token-1' && request.url === '/reject';
    response.statusCode = rejected ? 401 : 200;
    response.end(rejected ? 'rejected' : String(request.headers.authorization));
  });
  for (const name of ['a', 'b']) {
    const file = join(folder, name);
    writeFileSync(file, 'refresh-token-0\n', { mode: 0o600 });
    const oauth = {
      token_url: 'https://login.example/token',
      grant: 'refresh_token',
      client_id: 'the-client',
      client_auth: 'none',
      refresh_token: { file },
    };
    const config = {
      allow: [{ host: 'api.example' }],
      credentials: { one: { hosts: ['api.example'], inject: { bearer: true }, source: { oauth } } },
      upstream: { resolve: { 'login.example': login.address, 'api.example': api.address }, ca: ca.path },
      store: `redis://127.0.0.1:${redis.port}`,
    };
    gateways.push(await startTestGateway(config, gateways[0] ?? null));
  }
  const { grant } = await gateways[0]!.register({ id: 'one', proof: ['secret'] });
  secret = (grant as { secret: string }).secret;
});

afterAll(async () => {
  for (const gateway of gateways.reverse()) await gateway.stop();
  await Promise.all([login.close(), api.close()]);
  rmSync(folder, { recursive: true });
});

async function ask(gateway: TestGateway, path = '/'): Promise<string> {
  const fields = [`Proxy-Authorization: ${basic('one', secret)}`];
  const wire = new Wire(await openTls(gateway, 'api.example:443', { caPath: gateway.caPath, fields }));
  wire.send(`GET ${path} HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n`);
  return wire.rest();
}

describe('two gateways with the same refresh token', () => {
  test('exchange it once for all requests that need it, and both keep the one that came for it', async () => {
    const answers = await Promise.all([0, 1, 0, 1, 0, 1].map((which) => ask(gateways[which]!)));
    for (const answer of answers) expect(answer).toContain('200 OK');
    expect(api.seen.map(({ headers }) => headers.authorization)).toEqual(Array(6).fill('Bearer access-token-1'));
    expect([faults, login.seen.length]).toEqual([[], 1]);
    expect(['a', 'b'].map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(
      Array(2).fill('refresh-token-1\n'),
    );
  });

  test('neither token nor secret is to be read in Redis', async () => {
    const all = await redis.dump();
    expect(all).toContain('sallyport:vault:');
    for (const value of ['access-token', 'refresh-token', secret, 'login.example']) expect(all).not.toContain(value);
  });
});
