import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { sendBare, sendPlain, sendTunnelled } from '../support/raw-client.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../support/recording-upstream.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../support/tunnel-client.ts';

// Long, and with letters that look different in every encoding.
const key = 'planted/key+55?a~b=c9d1e7f3';
const names = ['header', 'basic', 'query', 'broken'] as const;

let far: RecordingUpstream;
let wrong: RecordingUpstream;
let command: BuiltCommand;
let gateway: RunningGateway;
let sandboxId = '';
const answers: string[] = [];

const admin = (method: string, path: string, body?: unknown) =>
  callAdmin(join(command.home, 'state', 'run', 'admin.sock'), method, path, body);

beforeAll(async () => {
  const ca = makeTestCa();
  far = await startRecordingUpstream(ca.issue(names.map((name) => `${name}.example`)));
  wrong = await startRecordingUpstream(makeTestCa().issue(['broken.example']));
  const inject = {
    header: { bearer: true },
    basic: { basic: { username: 'u' } },
    query: { query: 'k' },
    broken: { bearer: true },
  };
  command = buildCommand({
    allow: names.map((name) => ({ host: `${name}.example` })),
    credentials: Object.fromEntries(
      names.map((name) => [name, { hosts: [`${name}.example`], paths: ['/v1/**'], inject: inject[name] }]),
    ),
    upstream: {
      resolve: Object.fromEntries(names.map((name) => [`${name}.example`, (name === 'broken' ? wrong : far).address])),
      ca: ca.path,
    },
  });
  gateway = await command.up();
  const registered = await admin('POST', '/internal/containers', { container_ip: '127.0.0.1' });
  sandboxId = registered.json<{ id: string }>().id;
  for (const name of names) {
    const reply = await admin('PUT', `/internal/credentials/${name}`, key);
    expect(reply.status).toBeLessThan(300);
    answers.push(reply.body);
  }
});

afterAll(async () => {
  gateway.kill('SIGKILL');
  await gateway.ended;
  await far.close();
  await wrong.close();
  command.remove();
});

/** Every way the key could be spelled, at any offset in the case of base64. */
function spellings(): string[] {
  const base64 = [0, 1, 2].map((pad) =>
    Buffer.from(`${'x'.repeat(pad)}${key}`)
      .toString('base64')
      .replace(/=+$/, '')
      .slice(pad === 0 ? 0 : 4, -4),
  );
  return [
    key,
    encodeURIComponent(key),
    JSON.stringify(key).slice(1, -1),
    Buffer.from(key).toString('hex'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

function filesUnder(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? filesUnder(path) : entry.isFile() ? [path] : [];
  });
}

async function beBusy(): Promise<void> {
  const get = (host: string, path: string, fields = '') =>
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: close\r\n\r\n`;
  for (const name of names) {
    const host = `${name}.example`;
    for (const path of ['/v1/x?q=1', '/v1/%zz', '/telemetry', '/v1/../x']) {
      answers.push((await sendTunnelled(gateway, host, get(host, path, 'Authorization: Bearer placeholder\r\n'))).text);
    }
    answers.push((await sendTunnelled(gateway, host, get('elsewhere.example', '/v1/x'))).text);
    answers.push((await sendBare(gateway, `${host}:80`, get(host, '/v1/x'))).text);
    answers.push((await sendPlain(gateway, `GARBAGE ${host}\r\n\r\n`)).text);
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    answers.push(JSON.stringify(await askHttp2(session, { ':path': '/v1/x' })));
    session.destroy();
  }
  far.answerWith(() => 'HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n');
  answers.push((await sendTunnelled(gateway, 'header.example', get('header.example', '/v1/x'))).text);
  for (const path of ['containers', 'credentials', 'health', 'metrics', 'audit']) {
    answers.push((await admin('GET', `/internal/${path}`)).body);
  }
  const check = { method: 'GET', url: 'https://query.example/v1/x' };
  answers.push((await admin('POST', '/internal/check', { ...check, sandbox: sandboxId })).body);
  for (const args of [['logs'], ['secret', 'list'], ['list'], ['audit', 'verify']]) {
    const run = await command.run(args);
    answers.push(run.stdout, run.stderr);
  }
}

describe('after a busy day the key is in nothing that we wrote', () => {
  test('but it was used, in every form', async () => {
    await beBusy();
    expect(far.bytes).toContain(`Bearer ${key}`);
    expect(far.bytes).toContain(Buffer.from(`u:${key}`).toString('base64'));
    expect(far.bytes).toContain(encodeURIComponent(key));
    expect(wrong.bytes).toBe('');
    // The search below finds what is there: the key itself, in a query, and in base64 behind a user name.
    expect(spellings().filter((spelling) => far.bytes.includes(spelling)).length).toBeGreaterThanOrEqual(3);
    expect(answers.some((text) => text.includes('"credential":"query"'))).toBe(true);
    await eventually(() => gateway.output().includes('upstream'), 'the log has the failures');
  });

  test('no answer, of the door, of the admin socket or of the command line', () => {
    const all = answers.join('\n');
    expect(all.length).toBeGreaterThan(10_000);
    for (const spelling of spellings()) expect(all).not.toContain(spelling);
  });

  test('no file of the state, journal included', () => {
    const files = filesUnder(join(command.home, 'state'));
    expect(files.some((path) => path.endsWith('.jsonl') && statSync(path).size > 5_000)).toBe(true);
    for (const path of files) {
      const text = readFileSync(path, 'latin1');
      for (const spelling of spellings()) expect(text, path).not.toContain(spelling);
    }
  });

  test('no line of the log, no argument and no variable of the process', () => {
    const { pid } = gateway.child;
    const all = [
      gateway.output(),
      readFileSync(`/proc/${pid}/cmdline`, 'latin1'),
      readFileSync(`/proc/${pid}/environ`, 'latin1'),
    ];
    for (const spelling of spellings()) for (const text of all) expect(text).not.toContain(spelling);
  });
});
