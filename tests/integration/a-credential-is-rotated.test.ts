// Credentials that change while the gateway runs: each is the new one at the upstream without a restart or a reload.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const names = ['file', 'mount', 'command', 'brief', 'age', 'memory'];
const hostOf = (name: string): string => `${name}.example`;
let directory: string;
let gateway: TestGateway;
let close: () => Promise<void>;
let recipient: string;
/** What an upstream takes for good; null: everything. */
let accepted: string | null = null;
const seen: string[] = [];

const place = (name: string): string => join(directory, name);

/** As careful people do it: written beside it, then put in its place. */
function replace(path: string, value: string | Buffer): void {
  writeFileSync(`${path}.new`, value, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function seal(value: string): Buffer {
  return execFileSync('age', ['-r', recipient], { input: value });
}

function pointMountTo(folder: string, value: string): void {
  mkdirSync(place(`mount/${folder}`), { recursive: true });
  writeFileSync(place(`mount/${folder}/key`), value, { mode: 0o400 });
  symlinkSync(folder, place('mount/..data_tmp'));
  renameSync(place('mount/..data_tmp'), place('mount/..data'));
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-rotated-'));
  execFileSync('age-keygen', ['-o', place('identity')], { stdio: 'ignore' });
  chmodSync(place('identity'), 0o600);
  recipient = execFileSync('age-keygen', ['-y', place('identity')], { encoding: 'utf8' }).trim();
  replace(place('file'), 'file-value-1\n');
  replace(place('command'), 'command-value-1\n');
  replace(place('brief'), 'brief-value-1\n');
  replace(place('age'), seal('age-value-1\n'));
  pointMountTo('..one', 'mount-value-1');
  symlinkSync('..data/key', place('mount/key'));
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, names.map(hostOf), (request, response) => {
    const key = String(request.headers['x-api-key']);
    seen.push(key);
    response.writeHead(accepted === null || key === accepted ? 200 : 401);
    response.end();
  });
  close = upstream.close;
  const sources: Record<string, object | null> = {
    file: { file: place('file') },
    mount: { file: place('mount/key') },
    command: { command: ['cat', place('command')], ttl_seconds: 3600 },
    brief: { command: ['cat', place('brief')], ttl_seconds: 1 },
    age: { age: { file: place('age'), identity: { file: place('identity') } } },
    memory: null,
  };
  gateway = await startTestGateway({
    allow: names.map((name) => ({ host: hostOf(name) })),
    credentials: Object.fromEntries(
      names.map((name) => [
        name,
        { hosts: [hostOf(name)], inject: { header: 'x-api-key' }, ...(sources[name] && { source: sources[name] }) },
      ]),
    ),
    upstream: { resolve: Object.fromEntries(names.map((name) => [hostOf(name), upstream.address])), ca: ca.path },
  });
  await gateway.setSecret('memory', 'memory-value-1');
  await gateway.register();
  // First of all, so that its five seconds are over when it is to be run again.
  expect(await call('command')).toEqual({ status: '200', sent: ['command-value-1'] });
});

afterAll(async () => {
  await gateway.stop();
  await close();
  rmSync(directory, { recursive: true, force: true });
});

/** The status that the sandbox sees, and what the upstream was sent for it. */
async function call(name: string): Promise<{ status: string; sent: string[] }> {
  seen.length = 0;
  const run = await runClient('curl', [
    ...['-sS', '-m', '30', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, '-o', '/dev/null', '-w', '%{http_code}'],
    `https://${hostOf(name)}/`,
  ]);
  return { status: run.stdout, sent: [...seen] };
}

async function listed(name: string): Promise<Record<string, unknown>> {
  const { credentials } = (await gateway.admin('GET', '/internal/credentials')).json<{
    credentials: { name: string }[];
  }>();
  return { ...credentials.find((one) => one.name === name) };
}

describe('a credential that changes is the new one upstream', () => {
  test.each<[string, string, () => void | Promise<void>]>([
    ['a file that is replaced', 'file', () => replace(place('file'), 'file-value-2\n')],
    ['a mount that points elsewhere', 'mount', () => pointMountTo('..two', 'mount-value-2')],
    ['an encrypted file that is replaced', 'age', () => replace(place('age'), seal('age-value-2\n'))],
    ['a command whose time is over', 'brief', () => replace(place('brief'), 'brief-value-2\n')],
    ['a value that is set again', 'memory', () => gateway.setSecret('memory', 'memory-value-2')],
  ])('%s', async (_, name, rotate) => {
    expect(await call(name)).toEqual({ status: '200', sent: [`${name}-value-1`] });
    const before = await listed(name);
    await rotate();
    await eventually(async () => (await call(name)).sent[0] === `${name}-value-2`, 'the new value is in use');
    const after = await listed(name);
    expect(after).toMatchObject({ set: true, error: null });
    expect(String(after.since) > String(before.since)).toBe(true);
  });
});

describe('a credential that the upstream refuses', () => {
  test('is looked for again at once, and the request is sent once more with what was found', async () => {
    replace(place('command'), 'command-value-2\n');
    accepted = 'command-value-2';
    await eventually(async () => {
      const { status, sent } = await call('command');
      // Run less than five seconds ago, it is left alone.
      if (status === '401') return false;
      expect(sent).toEqual(['command-value-1', 'command-value-2']);
      return true;
    }, 'the command was run again');
    expect(await call('command')).toEqual({ status: '200', sent: ['command-value-2'] });
  });

  test('and has no other: the sandbox sees the refusal, the operator when it was', async () => {
    accepted = 'something else';
    expect((await call('file')).status).toBe('401');
    accepted = null;
    expect(await listed('file')).toMatchObject({ set: true, error: expect.stringContaining('an upstream refused it') });
  });

  test('no list has ever shown a value', async () => {
    const list = await gateway.admin('GET', '/internal/credentials');
    expect(list.body).toContain('"age"');
    expect(list.body).not.toMatch(/-value-\d/);
  });
});
