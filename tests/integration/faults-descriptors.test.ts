// A gateway that may open few files, and callers that open more connections than that: it lives, it does not spin, it still
// writes its journal and its registry and reads its configuration, and those who are registered are served afterwards.
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyJournal } from '../../src/stages/audit/journal/verify.ts';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { type AdminReply, callAdmin } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
const other = 'other.example';
const maxFiles = 120;
const flood = 400;
let command: BuiltCommand;
let gateway: RunningGateway;
let close: () => Promise<void>;
let policy: (hosts: readonly string[]) => Record<string, unknown>;
const sockets: Socket[] = [];
/** What each was told before it was closed. */
const told = new WeakMap<Socket, string>();

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host, other], (_, response) => {
    response.end('answer');
  });
  close = upstream.close;
  policy = (hosts) => ({
    allow: hosts.map((one) => ({ host: one })),
    limits: { connections: 1000, connections_per_second: 0, gateway: { connections_per_second: 0 } },
    upstream: { resolve: { [host]: upstream.address, [other]: upstream.address }, ca: ca.path },
  });
  command = buildCommand(policy([host]));
  gateway = await command.up(['prlimit', `--nofile=${maxFiles}:${maxFiles}`]);
  await register({ id: 'one', container_ip: '127.0.0.1' });
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  gateway.kill('SIGKILL');
  await gateway.ended;
  await close();
  command.remove();
});

const admin = (method: string, path: string, body?: unknown): Promise<AdminReply> =>
  callAdmin(join(command.home, 'state', 'run', 'admin.sock'), method, path, body);

async function register(registration: Record<string, unknown>): Promise<void> {
  const reply = await admin('POST', '/internal/containers', registration);
  if (reply.status !== 201) throw new Error(`register: ${reply.status} ${reply.body}`);
}

async function ask(to: string): Promise<string> {
  const wire = new Wire(await openTls(gateway, `${to}:443`, { caPath: gateway.caPath }));
  wire.send(`GET / HTTP/1.1\r\nHost: ${to}\r\nConnection: close\r\n\r\n`);
  return (await wire.rest()).slice(9, 12);
}

const openFiles = (): number => readdirSync(`/proc/${gateway.child.pid}/fd`).length;

/** In ticks of the kernel, a hundredth of a second each. */
function usedTicks(): number {
  const fields = readFileSync(`/proc/${gateway.child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Opens so many and keeps those that the gateway keeps. */
async function openMany(localAddress: string): Promise<Socket[]> {
  const opened = Array.from({ length: flood }, () => connect({ port: gateway.port, host: '127.0.0.1', localAddress }));
  for (const socket of opened) {
    socket.on('error', () => {}).on('data', (chunk: Buffer) => told.set(socket, `${told.get(socket) ?? ''}${chunk}`));
  }
  sockets.push(...opened);
  await Promise.all(opened.map((socket) => new Promise((done) => socket.once('connect', done).once('close', done))));
  return opened;
}

describe.each([
  ['strangers', '127.0.0.9'],
  ['a registered sandbox', '127.0.0.1'],
])('a flood of connections by %s', (_, from) => {
  test('leaves the gateway what it needs to work, and ends without a trace', async () => {
    const before = openFiles();
    const opened = await openMany(from);
    await eventually(() => opened.filter(({ destroyed }) => destroyed).length > flood / 2, 'most are turned away');
    // In words, wherever there was a descriptor left to say them with.
    const refused = opened.filter(({ destroyed }) => destroyed).map((socket) => told.get(socket) ?? '');
    const inWords = refused.filter((text) => text.startsWith('HTTP/1.1 429 '));
    expect(inWords.length).toBeGreaterThan(refused.length / 2);
    for (const text of inWords)
      expect(text).toMatch(/\r\nRetry-After: 5\r\nX-Sallyport-Refused: limit\.connections\r\n/);
    // For a moment those are open too that are being turned away.
    await eventually(() => openFiles() < maxFiles - 16, 'files are left');

    const id = `during-${from.replaceAll('.', '-')}`;
    await register({ id, container_ip: `10.0.0.${from.split('.').at(-1)}` });
    command.writeConfig(policy([host, other]));
    const read = gateway.output().split('read again').length;
    gateway.kill('SIGHUP');
    await eventually(() => gateway.output().split('read again').length > read, 'the configuration was read');
    expect(gateway.output()).not.toContain('NOT taken over');
    expect((await admin('GET', '/internal/health')).status).toBe(200);

    // Not by the clock of the wall: what it has used between two answers of its own.
    const ticks = usedTicks();
    for (let i = 0; i < 10; i++) await admin('GET', '/internal/health');
    expect(usedTicks() - ticks).toBeLessThan(100);

    for (const socket of opened) socket.destroy();
    await eventually(() => openFiles() <= before + 2, 'the files are closed');
    expect(await ask(host)).toBe('200');
    expect(await ask(other)).toBe('200');
    expect(gateway.output().split('\n').length).toBeLessThan(300);
    expect(await verifyJournal(join(command.home, 'state', 'journal'))).toMatchObject({ ok: true });
    const { stdout } = await command.run(['logs', '--refused', '--json']);
    expect(stdout).toContain('the limit of open files of the gateway (ulimit -n)');
  }, 120_000);
});

test('a registered sandbox is served while strangers hold all they can get', async () => {
  const opened = await openMany('127.0.0.9');
  await eventually(() => opened.filter(({ destroyed }) => destroyed).length > flood / 2, 'most are turned away');
  expect(await ask(host)).toBe('200');
  for (const socket of opened) socket.destroy();
});

test('the operator is told that the process may not open what the policy allows', async () => {
  const { warnings } = (await admin('GET', '/internal/health')).json<{ warnings: string[] }>();
  expect(warnings.join('\n')).toMatch(/120 open files.*limits\.gateway\.connections/s);
});
