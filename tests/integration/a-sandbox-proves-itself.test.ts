import { existsSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { askHttp2, openHttp2, openTls, TunnelRefused } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const keys = { anthropic: 'sk-ant-real-0123456789', openai: 'sk-real-0123456789' };
let upstream: FakeUpstream;
let gateway: TestGateway;
let secret: string;
let socketPath: string;

beforeAll(async () => {
  const ca = makeTestCa();
  const hosts = ['api.anthropic.com', 'api.openai.com'];
  upstream = await startFakeUpstream(ca, hosts);
  gateway = await startTestGateway({
    allow: [{ preset: 'anthropic' }, { preset: 'openai' }],
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  for (const [name, value] of Object.entries(keys)) await gateway.setSecret(name, value);
  await gateway.register({ id: 'by-address', container_ip: '127.0.0.2', credentials: ['anthropic'] });
  await gateway.register({ id: 'other-address', container_ip: '127.0.0.3', credentials: ['openai'] });
  const bySecret = await gateway.register({ id: 'by-secret', proof: ['secret'] });
  secret = (bySecret.grant as { secret: string }).secret;
  const bySocket = await gateway.register({ id: 'by-socket', proof: ['socket'] });
  socketPath = (bySocket.grant as { socket: string }).socket;
  await gateway.register({ id: 'by-both', container_ip: '127.0.0.4', proof: ['ip', 'secret'] });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

async function curl(
  from: string,
  url: string,
  ...more: string[]
): Promise<{ status: string; body: string; head: string }> {
  const run = await runClient('curl', [
    ...['-sSi', '-m', '30', '--suppress-connect-headers', '--interface', from, '-x', gateway.proxyUrl],
    ...['--cacert', gateway.caPath, '-w', '\n%{http_code} %{http_connect}', url, ...more],
  ]);
  const [, text, code, connectCode] = /^(.*)\n(\d+) (\d+)$/s.exec(run.stdout)!;
  const [head, body] = text!.split('\r\n\r\n') as [string, string | undefined];
  return { status: code === '000' ? connectCode! : code!, body: body ?? '', head };
}

const claude = 'https://api.anthropic.com/v1/messages';
const gpt = 'https://api.openai.com/v1/models';

async function whoWasThat(): Promise<unknown> {
  return (await gateway.journal()).at(-1)!.sandbox;
}

describe('by its address', () => {
  test('it is let in, and the journal says who it was', async () => {
    expect((await curl('127.0.0.2', claude)).status).toBe('200');
    expect(upstream.seen.at(-1)!.headers['x-api-key']).toBe(keys.anthropic);
    expect(await whoWasThat()).toBe('by-address');
  });

  test('two sandboxes have the credentials of their own lists, on the same hosts', async () => {
    await curl('127.0.0.2', gpt, '-H', 'authorization: Bearer placeholder');
    expect(JSON.stringify(upstream.seen.at(-1))).not.toContain(keys.openai);
    expect((await curl('127.0.0.3', gpt, '-H', 'authorization: Bearer placeholder')).status).toBe('200');
    expect(upstream.seen.at(-1)!.headers.authorization).toBe(`Bearer ${keys.openai}`);
    await curl('127.0.0.3', claude, '-H', 'x-api-key: placeholder');
    expect(JSON.stringify(upstream.seen.at(-1))).not.toContain(keys.anthropic);
  });

  test('an address where nobody is registered is asked for a secret, and gets nothing', async () => {
    const before = upstream.seen.length;
    const answer = await curl('127.0.0.9', claude);
    expect(answer.status).toBe('407');
    expect(upstream.seen.length).toBe(before);
  });
});

describe('by its secret', () => {
  test('from any address, in the proxy URL as clients take it', async () => {
    const answer = await curl('127.0.0.9', claude, '--proxy-user', `by-secret:${secret}`);
    expect(answer.status).toBe('200');
    expect(JSON.stringify(upstream.seen.at(-1))).not.toContain(secret);
    expect(JSON.stringify(upstream.seen.at(-1)).toLowerCase()).not.toContain('proxy-authorization');
    expect(await whoWasThat()).toBe('by-secret');
  });

  test('without it 407 names the scheme, so that clients ask for it and send it', async () => {
    const wire = new Wire(connect({ port: gateway.port, host: gateway.host, localAddress: '127.0.0.9' }));
    wire.send('CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n');
    const refusal = await wire.answer();
    expect(refusal.head.startsWith('HTTP/1.1 407 ')).toBe(true);
    expect(refusal.head).toMatch(/^proxy-authenticate: basic realm="sallyport"/im);
    expect(JSON.parse(refusal.body)).toMatchObject({ code: 'sandbox.proof-missing' });
    wire.socket.destroy();
    const patient = await curl('127.0.0.9', claude, '--proxy-anyauth', '--proxy-user', `by-secret:${secret}`);
    expect(patient.status).toBe('200');
  });

  test('a wrong one is 407 and reaches nobody', async () => {
    const before = upstream.seen.length;
    expect((await curl('127.0.0.9', claude, '--proxy-user', 'sandbox:wrong')).status).toMatch(/^40[37]$/);
    expect((await curl('127.0.0.9', claude, '--proxy-user', 'by-secret:wrong')).status).toBe('407');
    expect(upstream.seen.length).toBe(before);
  });

  test('where address and secret are both asked for, one of them is not enough', async () => {
    expect((await curl('127.0.0.4', claude)).status).toBe('407');
    expect((await curl('127.0.0.4', claude, '--proxy-user', `sandbox:${secret}`)).status).toBe('407');
  });
});

describe('by the socket that is its own', () => {
  test('over HTTP/1.1 and HTTP/2', async () => {
    const wire = new Wire(await openTls({ socketPath }, 'api.anthropic.com:443', { caPath: gateway.caPath }));
    wire.send('GET /v1/models HTTP/1.1\r\nHost: api.anthropic.com\r\n\r\n');
    expect((await wire.answer()).head.startsWith('HTTP/1.1 200 ')).toBe(true);
    expect(await whoWasThat()).toBe('by-socket');
    wire.socket.destroy();
    const session = await openHttp2({ socketPath }, 'api.openai.com', { caPath: gateway.caPath });
    expect((await askHttp2(session, { ':path': '/v1/models' })).headers[':status']).toBe(200);
    expect(upstream.seen.at(-1)!.headers.authorization).toBe(`Bearer ${keys.openai}`);
    session.close();
  });

  test('it is still itself when it shows the secret of another', async () => {
    const proof = `Proxy-Authorization: Bearer ${secret}`;
    const fields = { caPath: gateway.caPath, fields: [proof] };
    const wire = new Wire(await openTls({ socketPath }, 'api.anthropic.com:443', fields));
    wire.send('GET /v1/models HTTP/1.1\r\nHost: api.anthropic.com\r\n\r\n');
    await wire.answer();
    expect(await whoWasThat()).toBe('by-socket');
    wire.socket.destroy();
  });

  test('no other door lets it in, and its socket lies in a private directory', async () => {
    const fields = ['Proxy-Authorization: Basic Ynktc29ja2V0Ong='];
    await expect(openTls(gateway, 'api.anthropic.com:443', { caPath: gateway.caPath, fields })).rejects.toThrow(
      TunnelRefused,
    );
    expect(existsSync(socketPath)).toBe(true);
    expect(statSync(new URL('.', `file://${socketPath}`)).mode & 0o777).toBe(0o700);
  });
});
