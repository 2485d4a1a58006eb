// Must not happen: a client certificate is shown to another host, for a path or a sandbox that it is not for, or on a connection that
// was opened for somebody else.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { dirname, join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listenOnLoopback } from '../../../src/prove/internet/listen-on-loopback.ts';
import { afterThisFile } from '../../support/after-this-file.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const token = 'planted-token-5c0ffee1';
const ca = makeTestCa();
const client = ca.issue(['agent.bank.example']);
const folder = dirname(ca.path);
let gateway: TestGateway;
let upstream: { readonly address: string; close(): Promise<void> };
let without: { readonly socketPath: string };
/** Of each request: its path, who its connection was opened as, and which connection that was. */
let seen: { path: string; as: string | null; connection: number; token: string | null }[] = [];
let connections = 0;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const socket = request.socket as TLSSocket & { number?: number };
  socket.number ??= ++connections;
  const { subjectaltname } = socket.getPeerCertificate();
  seen.push({
    path: request.url ?? '',
    as: socket.authorized ? (subjectaltname ?? null) : null,
    connection: socket.number,
    token: request.headers.authorization ?? null,
  });
  if (request.url === '/away') response.writeHead(302, { location: 'https://open.example/' });
  response.end('ok');
}

/** A server that ends every handshake without a certificate of the CA. */
function startOpenssl(): Promise<string> {
  const leaf = ca.issue(['strict.example']);
  writeFileSync(join(folder, 'strict.pem'), leaf.cert + leaf.key, { mode: 0o600 });
  const args = ['s_server', '-accept', '127.0.0.1:0', '-cert', 'strict.pem', '-CAfile', 'ca.pem', '-www'];
  const child = spawn('openssl', [...args, '-Verify', '1', '-verify_return_error'], { cwd: folder });
  afterThisFile(() => child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
      const address = /ACCEPT (127\.0\.0\.1:\d+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', () => reject(new Error(`openssl ended: ${said}`)));
  });
}

beforeAll(async () => {
  const names = ['bank.example', 'both.example', 'open.example', 'bad.example'];
  const tls = { ...ca.issue(names), ca: readFileSync(ca.path, 'utf8'), requestCert: true, rejectUnauthorized: false };
  upstream = await listenOnLoopback(createServer({ ...tls, ALPNProtocols: ['http/1.1'] }, serve));
  const cert = join(folder, 'client.pem');
  writeFileSync(cert, client.cert);
  writeFileSync(join(folder, 'client.key'), client.key, { mode: 0o600 });
  writeFileSync(join(folder, 'other.key'), ca.issue(['x.example']).key, { mode: 0o600 });
  const key = { file: join(folder, 'client.key') };
  const strict = await startOpenssl();
  gateway = await startTestGateway({
    allow: [...names, 'strict.example'].map((host) => ({ host })),
    credentials: {
      bank: { hosts: ['bank.example'], paths: ['/v1/**', '/away'], client_certificate: { cert, key } },
      strict: { hosts: ['strict.example'], paths: ['/v1/**'], client_certificate: { cert, key } },
      both: { hosts: ['both.example'], inject: { bearer: true }, client_certificate: { cert, key } },
      bad: { hosts: ['bad.example'], client_certificate: { cert, key: { file: join(folder, 'other.key') } } },
    },
    upstream: {
      resolve: { ...Object.fromEntries(names.map((name) => [name, upstream.address])), 'strict.example': strict },
      ca: ca.path,
    },
  });
  await gateway.register();
  await gateway.setSecret('both', token);
  const other = await gateway.register({ proof: ['socket'], credentials: [] });
  without = { socketPath: (other.grant as { socket: string }).socket };
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const me = 'DNS:agent.bank.example';
const get = (host: string, path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

/** Several requests on one connection to the door. */
async function ask(host: string, ...paths: string[]) {
  seen = [];
  const last = paths.length - 1;
  const bytes = paths.map((path, at) =>
    at < last ? get(host, path) : get(host, path).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'),
  );
  return sendTunnelled(gateway, host, bytes.join(''));
}

describe('a client certificate', () => {
  test('is shown to its host, and the connection is used again for what it is for alone', async () => {
    const answer = await ask('bank.example', '/v1/a', '/other', '/v1/b', '/other');
    expect(answer.statuses).toEqual([200, 200, 200, 200]);
    expect(seen.map(({ path, as }) => [path, as])).toEqual([
      ['/v1/a', me],
      ['/other', null],
      ['/v1/b', me],
      ['/other', null],
    ]);
    const [a, other, b, again] = seen.map(({ connection }) => connection);
    expect([b, again]).toEqual([a, other]);
  });

  test('goes with a token where both are asked for', async () => {
    expect((await ask('both.example', '/x')).statuses).toEqual([200]);
    expect(seen).toMatchObject([{ as: me, token: `Bearer ${token}` }]);
  });

  test('is not shown to another host, nor to one that a redirect leads to', async () => {
    expect((await ask('bank.example', '/away')).statuses).toEqual([302]);
    expect(seen).toHaveLength(1);
    expect((await ask('open.example', '/')).statuses).toEqual([200]);
    expect(seen).toMatchObject([{ as: null }]);
  });

  test('is not shown for a sandbox that may not use it, by no session of TLS either', async () => {
    await ask('bank.example', '/v1/a');
    seen = [];
    const wire = new Wire(await openTls(without, 'bank.example:443', { caPath: gateway.caPath }));
    wire.send(get('bank.example', '/v1/a'));
    expect((await wire.answer()).head).toContain('HTTP/1.1 200');
    expect(seen).toMatchObject([{ as: null }]);
    wire.socket.destroy();
  });

  test('with a key that is not its own is an error in words, and nothing goes out', async () => {
    const answer = await ask('bad.example', '/');
    expect([answer.statuses, answer.code]).toEqual([[502], 'credential.unreadable']);
    expect(answer.text).toContain('credentials.bad.client_certificate');
    expect(seen).toEqual([]);
  });

  test('its key shows in no list and no record', async () => {
    const list = (await gateway.admin('GET', '/internal/credentials')).body;
    expect(list).toContain('both.client-key');
    const secretLine = client.key.split('\n')[1]!;
    expect(list + JSON.stringify(await gateway.journal())).not.toContain(secretLine);
  });
});

test('openssl, which serves nobody without one, serves the requests that it goes with and no others', async () => {
  const answer = await ask('strict.example', '/v1/a');
  expect(answer.statuses).toEqual([200]);
  expect(answer.text).toMatch(/Verification: OK|Verify return code: 0/);
  const refused = await ask('strict.example', '/other');
  expect(refused.statuses).toEqual([502]);
});
