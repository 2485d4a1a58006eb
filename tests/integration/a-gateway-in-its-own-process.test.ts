import { existsSync } from 'node:fs';
import type { Http2ServerResponse } from 'node:http2';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { runClient, startClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
let command: BuiltCommand;
let gateway: RunningGateway;
let close: () => Promise<void>;
let policy: Record<string, unknown>;
const slow: Http2ServerResponse[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host], (request, response) => {
    if (request.url === '/slow') {
      response.writeHead(200);
      response.write('beginning ');
      slow.push(response);
    } else response.end('answer');
  });
  close = upstream.close;
  policy = { allow: [{ host }], upstream: { resolve: { [host]: upstream.address }, ca: ca.path } };
  command = buildCommand(policy);
  gateway = await command.up();
});

afterEach(() => {
  for (const response of slow.splice(0)) response.end();
});

afterAll(async () => {
  gateway.kill('SIGKILL');
  await gateway.ended;
  await close();
  command.remove();
});

async function get(path = '/', url = `https://${host}`): Promise<string> {
  const run = await runClient('curl', [
    ...['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, '-w', ' %{http_code}', `${url}${path}`],
  ]);
  return run.stdout;
}

async function overSocket(socketPath: string): Promise<string> {
  const wire = new Wire(await openTls({ socketPath }, `${host}:443`, { caPath: gateway.caPath }));
  wire.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const { head } = await wire.answer();
  wire.socket.destroy();
  return head.slice(0, 12);
}

const adminSocket = (): string => `${command.home}/state/run/admin.sock`;

describe('the commands, against a gateway in its own process', () => {
  test('a second `up` says who is there already', async () => {
    const { code, stderr } = await command.run(['up']);
    expect(code).toBe(1);
    expect(stderr).toContain(`a gateway is up already: process ${gateway.child.pid} (sallyport up), since 20`);
    expect(stderr).toContain(`its admin socket is ${adminSocket()}`);
    expect(stderr).toContain(`To stop it: kill ${gateway.child.pid}.`);
  });

  test('a sandbox is let in, listed, and the journal follows what it does', async () => {
    expect((await command.run(['register', '--ip', '127.0.0.1', '--id', 'mine'])).code).toBe(0);
    expect((await command.run(['list'])).stdout).toContain('mine');
    const logs = command.start(['logs', '-f', '--json', '-n', '0']);
    // It prints from when it has connected: asks until a line shows.
    await eventually(async () => (await get()) && logs.output().includes('\n'), 'the first line');
    await get('/', 'https://elsewhere.example');
    await eventually(() => /domain\.not-allowed.*\n/.test(logs.output()), 'the refusal shows in the log');
    const lines = logs
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map((line) => line.verdict)).toEqual([...lines.slice(1).map(() => 'allowed'), 'refused']);
    logs.kill('SIGTERM');
    await logs.ended;
  });

  test('the metrics have counted it', async () => {
    const { body } = await callAdmin(adminSocket(), 'GET', '/internal/metrics');
    expect(body).toMatch(/^sallyport_requests_total\{verdict="allowed"\} [1-9]/m);
    expect(body).toMatch(/^sallyport_refusals_total\{code="domain\.not-allowed"\} 1$/m);
    expect(body).toMatch(/^sallyport_registered_sandboxes 1$/m);
    expect(body).toMatch(/^sallyport_journal_healthy 1$/m);
  });

  test('SIGHUP reads the configuration again', async () => {
    command.writeConfig({ ...policy, allow: [{ host, methods: ['POST'] }] });
    gateway.kill('SIGHUP');
    await eventually(async () => (await get()).endsWith('403'), 'the new rule is in force');
    command.writeConfig(policy);
    gateway.kill('SIGHUP');
    await eventually(async () => (await get()).endsWith('200'), 'the old rule is back');
  });
});

describe('a gateway that is killed and started again', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)('knows its sandboxes and opens their sockets: %s', async (signal) => {
    const id = `socket-${signal.toLowerCase()}`;
    const registered = await command.run(['register', '--id', id, '--proof', 'socket', '--json']);
    const { grant } = JSON.parse(registered.stdout) as { grant: { socket: string } };
    expect(await overSocket(grant.socket)).toBe('HTTP/1.1 200');
    gateway.kill(signal);
    await gateway.ended;
    expect((await command.run(['list'])).code).toBe(4);
    gateway = await command.up();
    expect(await get()).toBe('answer 200');
    expect(existsSync(grant.socket)).toBe(true);
    expect(await overSocket(grant.socket)).toBe('HTTP/1.1 200');
    await command.run(['unregister', id]);
    expect(existsSync(grant.socket)).toBe(false);
  });
});

describe('SIGTERM', () => {
  test('lets an answer that is under way end, takes nothing new, and ends with 0', async () => {
    const client = startClient('curl', [
      ...['-sSN', '-m', '15', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, `https://${host}/slow`],
    ]);
    await client.stdout.until('beginning ');
    gateway.kill('SIGTERM');
    await eventually(async () => {
      const run = await runClient('curl', ['-sS', '-m', '2', '-x', gateway.proxyUrl, `http://${host}/`]);
      return run.code === 7;
    }, 'new connections are refused');
    slow.splice(0)[0]!.end('and end');
    expect(await client.stdout.until('and end')).toBe('and end');
    expect(await client.ended).toBe(0);
    expect(await gateway.ended).toBe(0);
  });

  test('and after all of that the journal verifies', async () => {
    const verified = await command.run(['audit', 'verify', '--json']);
    expect(verified.code).toBe(0);
    const result = JSON.parse(verified.stdout) as { ok: boolean; records: number; tornBytes: number };
    expect(result.ok).toBe(true);
    expect(result.records).toBeGreaterThan(8);
    const shown = await command.run(['audit', 'verify']);
    expect(shown.stdout).toContain('intact');
    gateway = await command.up();
    expect(await get()).toBe('answer 200');
  });
});
