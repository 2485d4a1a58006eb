// The same as faults-clock, for a gateway in a process of its own whose real clock is set (libfaketime): OpenSSL, timers and
// files see the jump too. The client and the upstream keep the right time.
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyJournal } from '../../src/stages/audit/journal/verify.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';

const hour = 3_600;
const names = ['first.example', 'second.example', 'third.example'];
let command: BuiltCommand;
let gateway: RunningGateway;
let close: () => Promise<void>;

/** Debian puts it into the folder of the machine's triplet. */
function fakeClock(): string {
  const folder = readdirSync('/usr/lib')
    .map((name) => join('/usr/lib', name, 'faketime'))
    .find((path) => {
      try {
        return readdirSync(path).includes('libfaketimeMT.so.1');
      } catch {
        return false;
      }
    });
  if (folder === undefined) throw new Error('libfaketime is missing: apt-get install faketime');
  return join(folder, 'libfaketimeMT.so.1');
}

/** Seconds off the right time, from the next look at the clock on. */
function setClock(seconds: number): void {
  const beside = join(command.home, 'next-clock');
  writeFileSync(beside, seconds < 0 ? `${seconds}\n` : `+${seconds}\n`);
  renameSync(beside, join(command.home, 'clock'));
}

const admin = (method: string, path: string, body?: unknown) =>
  callAdmin(join(command.home, 'state', 'run', 'admin.sock'), method, path, body);

/** What curl is told: the status of the answer or, of a tunnel that is not opened, of the refusal. */
async function ask(name: string): Promise<string> {
  const words = ['-sS', '-o', '/dev/null', '-w', '%{http_connect} %{http_code}', '--max-time', '40'];
  const run = await runClient('curl', [...words, `https://${name}/`], {
    env: { https_proxy: gateway.proxyUrl, CURL_CA_BUNDLE: gateway.caPath },
  });
  return run.stdout;
}

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, names, (_, response) => response.end('fine'));
  close = upstream.close;
  command = buildCommand({
    allow: names.map((host) => ({ host })),
    upstream: { resolve: Object.fromEntries(names.map((name) => [name, upstream.address])), ca: ca.path },
  });
  setClock(0);
  gateway = await command.up([
    'env',
    `LD_PRELOAD=${fakeClock()}`,
    `FAKETIME_TIMESTAMP_FILE=${join(command.home, 'clock')}`,
    'FAKETIME_NO_CACHE=1',
    // Only the clock of the day can be set on a machine.
    'FAKETIME_DONT_FAKE_MONOTONIC=1',
  ]);
});

afterAll(async () => {
  gateway.kill('SIGKILL');
  await gateway.ended;
  await close();
  command.remove();
});

async function register(id: string): Promise<void> {
  const made = await admin('POST', '/internal/containers', { id, container_ip: '127.0.0.1' });
  expect(made.status).toBe(201);
}

describe('the clock of a gateway that runs is set', () => {
  test('half a day forward: it serves on', async () => {
    await register('one');
    expect(await ask('first.example')).toBe('200 200');
    setClock(12 * hour);
    expect(await ask('first.example')).toBe('200 200');
  });

  test('half a day back: the certificates it makes are good by the right clock; an upstream that is not valid yet is not believed', async () => {
    setClock(-12 * hour);
    expect(await ask('second.example')).toBe('200 502');
    const { stdout } = await command.run(['logs', '--json', '-n', '1']);
    expect(JSON.parse(stdout)).toMatchObject({ host: 'second.example', code: 'upstream.certificate' });
    setClock(0);
    expect(await ask('second.example')).toBe('200 200');
  });

  test('three days forward: the sandbox is over, and stays so when the clock is right again', async () => {
    setClock(72 * hour);
    expect(await ask('first.example')).toBe('403 000');
    setClock(0);
    expect(await ask('first.example')).toBe('403 000');
  });

  test('and it can be registered anew, ends in words, and its journal holds', async () => {
    await register('one');
    expect(await ask('third.example')).toBe('200 200');
    gateway.kill('SIGTERM');
    expect(await gateway.ended).toBe(0);
    const verified = await verifyJournal(join(command.home, 'state', 'journal'));
    expect(verified.ok).toBe(true);
  });
});
