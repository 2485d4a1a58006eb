import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientEnvironment } from '../support/client-environment.ts';
import { runClient } from '../support/run-client.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openTunnel } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'mirror.example';
const strict = 'strict.example';
const secret = 'the-real-secret-0123456789';
let gateway: TestGateway;
let close: () => void;
const seen: { request: IncomingMessage; body: string }[] = [];

beforeAll(async () => {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk;
    });
    request.on('end', () => {
      seen.push({ request, body });
      response.end(`plain ${request.url}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startTestGateway({
    allow: [{ host, plain_http: true }, { host: strict }],
    credentials: { mine: { hosts: [host, strict], inject: { header: 'x-api-key' }, anonymous: true } },
    upstream: { resolve: { [host]: address, [strict]: address } },
  });
  await gateway.register();
  await gateway.setSecret('mine', secret);
});

afterAll(async () => {
  await gateway.stop();
  close();
});

function curl(url: string, ...more: string[]) {
  return runClient('curl', ['-sS', '-m', '30', '-x', gateway.proxyUrl, url, ...more]);
}

describe('plain http passes where a rule says so, and never with a credential', () => {
  test('as a full URL to the proxy', async () => {
    const run = await curl(`http://${host}/pool/a?b=c`, '-H', 'x-api-key: placeholder', '-d', 'body');
    expect(run).toMatchObject({ code: 0, stdout: 'plain /pool/a?b=c' });
    const { request, body } = seen.at(-1)!;
    expect(request.url).toBe('/pool/a?b=c');
    expect(request.headers.host).toBe(host);
    expect(body).toBe('body');
    expect(JSON.stringify(request.rawHeaders)).not.toContain(secret);
    expect(JSON.stringify(request.rawHeaders).toLowerCase()).not.toContain('proxy-');
    expect((await gateway.journal()).at(-1)).toMatchObject({ scheme: 'http', port: 80, credential: null });
  });

  test('through CONNECT to port 80', async () => {
    const run = await curl(`http://${host}/in/a/tunnel`, '--proxytunnel');
    expect(run).toMatchObject({ code: 0, stdout: 'plain /in/a/tunnel' });
    expect(JSON.stringify(seen.at(-1)!.request.rawHeaders)).not.toContain(secret);
  });

  test('python finds it by its environment', async () => {
    const run = await runClient(
      '/usr/bin/python3',
      ['-c', `import urllib.request; print(urllib.request.urlopen("http://${host}/py").read().decode())`],
      { env: clientEnvironment(gateway) },
    );
    expect(run.stdout).toBe('plain /py\n');
  });

  test.each([
    ['as a full URL', []],
    ['through CONNECT', ['--proxytunnel']],
  ])('a host whose rule does not say so is refused: %s', async (_how, more) => {
    const before = seen.length;
    const run = await curl(`http://${strict}/`, ...more);
    expect(run.stdout).toMatch(/"code":"(domain\.plain-http|target\.port)"/);
    expect(seen.length).toBe(before);
  });

  test('a second request in the tunnel may not name another host', async () => {
    const before = seen.length;
    const wire = new Wire(await openTunnel(gateway, `${host}:80`));
    wire.send(`GET /one HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect((await wire.answer()).head.startsWith('HTTP/1.1 200 ')).toBe(true);
    wire.send(`GET /two HTTP/1.1\r\nHost: ${strict}\r\n\r\n`);
    const refusal = await wire.answer();
    expect(JSON.parse(refusal.body)).toMatchObject({ code: 'mismatch.authority' });
    expect(seen.length).toBe(before + 1);
    wire.socket.destroy();
  });

  test('a bare path is told that this is a proxy', async () => {
    const run = await runClient('curl', ['-sS', '-m', '5', `${gateway.proxyUrl}/`]);
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'malformed.path' });
    expect(run.stdout).toContain('this is a proxy');
  });
});
