import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { readPage, tableUnder } from '../unit/docs/pages.ts';
import {
  curlVersion,
  type HaltingServer,
  type Listener,
  memoryOf,
  opensslLibcurl,
  packBytes,
  type Relay,
  startHaltingServer,
  startListener,
  startRelay,
} from './git-proxy-ground.ts';

const page = readPage('docs/research/git-proxy-methods.md');
const token = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const host = 'git.example.com';
const answering = 'answers.example.com';
let ground: string;
let upstream: GitUpstream;
let answers: FakeUpstream;
let gateway: TestGateway;
/** Lets in only who knows the secret. */
let guarded: TestGateway;
let secret: string;
let relay: Relay;
/** Where git arrives when it goes by itself. */
let direct: Listener;
let otherProxy: Listener;
let program: string;
let openssl: string;
let farCa: string;
let work: string;

beforeAll(async () => {
  ground = mkdtempSync(join(tmpdir(), 'git-proxy-'));
  program = join(ground, 'program');
  writeFileSync(program, `#!/bin/sh\ntouch '${ground}/ran'\n`, { mode: 0o755 });
  openssl = opensslLibcurl(join(ground, 'openssl'));
  [direct, otherProxy] = await Promise.all([startListener(), startListener()]);
  const ca = makeTestCa();
  farCa = ca.path;
  work = join(ground, 'work');
  const identity = { 'user.name': 'a', 'user.email': 'a@example.com' };
  await git(['init', '-q', work]);
  await git(['-C', work, 'commit', '-q', '--allow-empty', '-m', 'x'], { config: identity });
  upstream = await startGitUpstream(ca, { [host]: 'nobody:', 'github.com': `x-access-token:${token}` });
  await (await upstream.create('acme/tool', { isPublic: true })).commit({ branch: 'main', files: { file: 'text' } });
  answers = await startFakeUpstream(ca, [answering], answer);
  const document = {
    allow: [{ preset: 'github' }, { host, ports: [direct.port] }],
    upstream: {
      resolve: { 'github.com': upstream.address, [host]: upstream.address },
      ca: ca.path,
    },
  };
  gateway = await startTestGateway(document);
  await gateway.register({ container_ip: '127.0.0.1', repos: ['acme/tool'] });
  await gateway.setSecret('github', token);
  guarded = await startTestGateway(document);
  const { grant } = await guarded.register({ id: 'box', proof: ['secret'] });
  secret = (grant as { secret: string }).secret;
  relay = await startRelay(guarded);
});

afterAll(async () => {
  for (const one of [relay, direct, otherProxy]) one.close();
  await gateway.stop();
  await guarded.stop();
  await upstream.close();
  await answers.close();
  rmSync(ground, { recursive: true, force: true });
});

function packets(...lines: string[]): string {
  return lines.map((line) => (line === '' ? '0000' : (line.length + 4).toString(16).padStart(4, '0') + line)).join('');
}

/** Lists one branch to everybody, and refuses what is then asked for. `/json` and `/text` are refused at once. */
const answer: Parameters<typeof startFakeUpstream>[2] = (request, response) => {
  const service = /service=([\w-]+)/.exec(request.url)?.[1];
  if (request.url.startsWith('/listed') && service !== undefined) {
    response.setHeader('content-type', `application/x-${service}-advertisement`);
    const id = '1f7a7a472abf3dd9643fd615f6da379c4acb3e3a';
    response.end(packets(`# service=${service}\n`, '', `${id} refs/heads/main\0report-status\n`, ''));
    return;
  }
  const isJson = request.url.startsWith('/json');
  response.writeHead(403, { 'content-type': isJson ? 'application/json' : 'text/plain' });
  response.end(isJson ? '{"error":"the reason"}' : 'the reason\n');
};

interface Setting {
  readonly config?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

function git(
  args: readonly string[],
  setting: Setting = {},
  door: TestGateway | undefined = gateway,
): Promise<ClientRun> {
  const config = Object.entries({
    // Resolves the name without a resolver, for the attempts that go by themselves.
    'http.curloptResolve': `${host}:${direct.port}:127.0.0.1`,
    ...setting.config,
  }).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const env = { GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', GIT_SSL_CAINFO: door?.caPath ?? '', HOME: ground };
  return runClient('git', [...config, ...args], { env: { ...env, ...setting.env }, cwd: ground });
}

/** Asks for the refs of a remote and says who was called. */
async function way(protocol: 'https' | 'git', setting: Setting): Promise<string> {
  const before = { door: upstream.requests.length, direct: direct.count, other: otherProxy.count };
  rmSync(join(ground, 'ran'), { force: true });
  const url = `${protocol}://${protocol === 'git' ? '127.0.0.1' : host}:${direct.port}/acme/tool`;
  await git(['ls-remote', 'tried'], { ...setting, config: { 'remote.tried.url': url, ...setting.config } });
  const called = [
    upstream.requests.length > before.door ? 'the door' : null,
    direct.count > before.direct ? 'direct' : null,
    otherProxy.count > before.other ? 'the other proxy' : null,
    existsSync(join(ground, 'ran')) ? 'the program' : null,
  ];
  return called.filter((name) => name !== null).join(' and ');
}

/** One setting of the tables, leading to a proxy (for the two that name a program: to that). */
function setting(name: string, proxy: string): Setting {
  if (name === 'nothing') return {};
  if (name === '`GIT_PROXY_COMMAND`') return { env: { GIT_PROXY_COMMAND: program } };
  if (name === '`core.gitProxy`') return { config: { 'core.gitProxy': program } };
  if (name === '`http.proxy` empty') return { config: { 'http.proxy': '' } };
  if (/^`no_proxy`$/i.test(name)) return { env: { [name.slice(1, -1)]: host } };
  const key = name.slice(1, -1).replace('<url>', `https://${host}:${direct.port}`).replace('<name>', 'tried');
  return key.includes('.') ? { config: { [key]: proxy } } : { env: { [key]: proxy } };
}

describe('which setting leads git to the door', () => {
  test('the plan’s three ways are among those that were tried', () => {
    const tried = tableUnder(page, '## Which setting is followed').map(([name]) => name);
    expect(tried).toEqual(expect.arrayContaining(['`http.proxy`', '`GIT_PROXY_COMMAND`', '`ALL_PROXY`']));
  });

  test.each(tableUnder(page, '## Which setting is followed'))('%s: https %s, git %s', async (name, https, native) => {
    expect(await way('https', setting(name!, gateway.proxyUrl))).toBe(https);
    expect(await way('git', setting(name!, gateway.proxyUrl))).toBe(native);
  });

  test.each(tableUnder(page, '## Which one wins'))('%s is stronger than %s', async (stronger, weaker, result) => {
    const first = setting(stronger!, gateway.proxyUrl);
    const second = setting(weaker!, otherProxy.url);
    const both = { config: { ...second.config, ...first.config }, env: { ...second.env, ...first.env } };
    expect(await way('https', second), 'the weaker one alone must be followed').toBe('the other proxy');
    expect(await way('https', both)).toBe(result);
  });
});

describe('the sandbox’s secret in the proxy URL', () => {
  test.each(tableUnder(page, '## The secret in the proxy URL'))('%s: %s CONNECT, %s', async (name, count, result) => {
    relay.forget();
    const wrong = name!.includes('wrong secret');
    const proxy = `http://box:${wrong ? 'wrong' : encodeURIComponent(secret)}@127.0.0.1:${relay.port}`;
    const method = /`http\.proxyAuthMethod=(\w+)`/.exec(name!)?.[1];
    const config = method === undefined ? {} : { 'http.proxyAuthMethod': method };
    const inConfig = name!.includes('`http.proxy`');
    const run = await git(
      ['ls-remote', `https://${host}:${direct.port}/acme/tool`],
      inConfig ? { config: { ...config, 'http.proxy': proxy } } : { config, env: { HTTPS_PROXY: proxy } },
      guarded,
    );
    const proofs = relay.connects().map((head) => /^proxy-authorization: (\w+)/im.exec(head)?.[1] ?? 'none');
    expect(proofs.join(', ')).toBe(count);
    expect(run.code === 0 ? 'refs' : run.stderr.trim().split(': ').at(-1)).toBe(result);
    expect(run.stderr).not.toContain(secret);
  });
});

describe('what git prints', () => {
  const push = ['push', 'listed', 'HEAD:refs/heads/new'];
  const asked: Record<string, () => Promise<ClientRun>> = {
    '403 to CONNECT': () => ask(['ls-remote', `https://${host}:1/acme/tool`]),
    '403 to info/refs, text/plain': () => askServer(['ls-remote', 'text']),
    '403 to info/refs, JSON': () => askServer(['ls-remote', 'json']),
    '403 to POST git-upload-pack': () => askServer(['fetch', 'listed', 'main']),
    '403 to POST git-receive-pack': () => askServer(push),
    'a certificate it does not trust (GnuTLS)': () => ask(lsRemote, { GIT_SSL_CAINFO: farCa }),
    'a certificate it does not trust (OpenSSL)': () =>
      ask(lsRemote, { GIT_SSL_CAINFO: farCa, LD_LIBRARY_PATH: openssl }),
  };
  const lsRemote = ['ls-remote', 'https://github.com/acme/tool'];
  const ask = (args: readonly string[], env = {}): Promise<ClientRun> =>
    git(args, { env: { HTTPS_PROXY: gateway.proxyUrl, ...env } });

  /** Without the door, which has answers of its own to some of these. */
  const askServer = async (args: readonly string[]): Promise<ClientRun> => {
    const base = `https://${answering}:${answers.port}`;
    const remotes = ['text', 'json', 'listed'].map((name) => [`remote.${name}.url`, `${base}/${name}/x`]);
    const config = { 'http.curloptResolve': `${answering}:${answers.port}:127.0.0.1`, ...Object.fromEntries(remotes) };
    const run = await git(['-C', work, ...args], { config, env: { GIT_SSL_CAINFO: farCa } });
    return { ...run, stderr: run.stderr.replaceAll(`:${answers.port}`, '') };
  };

  test.each(tableUnder(page, '## What git prints'))('%s', async (name, isShown, words) => {
    const run = await asked[name!]!();
    const lines = run.stderr
      .replace(farCa, 'FILE')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('this is '));
    expect(run.code).not.toBe(0);
    expect(lines.map((line) => `\`${line}\``).join(' ')).toBe(words);
    expect(run.stderr.includes('the reason') ? 'yes' : 'no').toBe(isShown);
  });
});

describe('both TLS libraries and both HTTP versions', () => {
  const builds: Record<string, { readonly env: () => Record<string, string>; readonly library: string; sign: RegExp }> =
    {
      GnuTLS: { env: () => ({}), library: 'libcurl-gnutls.so.4', sign: /SSL connection using TLS1\.3 / },
      OpenSSL: {
        env: () => ({ LD_LIBRARY_PATH: openssl }),
        library: 'libcurl.so.4',
        sign: /this is libcurl\/\S+ OpenSSL\/.*TLSv1\.3 \(OUT\), TLS handshake, Client hello/s,
      },
    };

  test.each(tableUnder(page, '## TLS library and HTTP version'))(
    '%s: by itself %s, told otherwise %s; %s',
    async (name, byItself, underHttp1, result) => {
      const { env, library, sign } = builds[name!]!;
      expect(curlVersion(library)).toContain(`${name}/`);
      const seen = async (folder: string, config: Record<string, string>): Promise<string> => {
        const url = 'https://github.com/acme/tool';
        const more = { HTTPS_PROXY: gateway.proxyUrl, GIT_CURL_VERBOSE: '1', ...env() };
        const run = await git(['clone', url, folder], { config, env: more });
        expect(run.stderr).toMatch(sign);
        expect(run.code, run.stderr).toBe(0);
        const fetched = await git(['-C', join(ground, folder), 'fetch', url, 'main'], { config, env: more });
        expect(fetched.code, fetched.stderr).toBe(0);
        return /ALPN: server accepted (\S+)/.exec(run.stderr)![1]!;
      };
      expect(await seen(`${name}-1`, {})).toBe(byItself);
      expect(await seen(`${name}-2`, { 'http.version': 'HTTP/1.1' })).toBe(underHttp1);
      expect(result).toBe('clone and fetch pass');
    },
  );
});

describe('a large clone is passed on as it comes', () => {
  const rows = tableUnder(page, '## Streaming');
  const bytes = (text: string): number => Number(/(\d+) MiB/.exec(text)![1]) * (1 << 20);
  let command: BuiltCommand;
  let running: RunningGateway;
  let server: HaltingServer;

  beforeAll(async () => {
    const ca = makeTestCa();
    server = await startHaltingServer(ca, 'github.com', join(ground, 'served'), bytes(rows[0]![1]!));
    const resolve = { 'github.com': server.address };
    command = buildCommand({ allow: [{ preset: 'github' }], upstream: { resolve, ca: ca.path } });
    running = await command.up();
    await command.run(['register', '--ip', '127.0.0.1', '--repo', 'acme/large']);
    await command.run(['secret', 'set', 'github'], token);
  });

  afterAll(async () => {
    running.kill('SIGKILL');
    await running.ended;
    await server.close();
    command.remove();
  });

  test.each(rows)('over %s: of %s, %s arrive while the rest is held back; %s more memory', async (...row) => {
    const [version, size, early, growth] = row as [string, string, string, string];
    const folder = join(ground, version.replace('/', '-'));
    const before = memoryOf(running.child.pid!, 'VmRSS');
    server.haltAfter(bytes(early) * 2);
    const env = { HTTPS_PROXY: running.proxyUrl, GIT_SSL_CAINFO: running.caPath };
    const config = { 'http.version': version };
    const clone = git(['clone', '-q', '--bare', 'https://github.com/acme/large', folder], { config, env });
    await eventually(() => server.isHalted && packBytes(folder) >= bytes(early), 'the client has the first part');
    expect(server.sent).toBeLessThan(bytes(size) / 2);
    server.release();
    const run = await clone;
    expect(run.code, run.stderr).toBe(0);
    expect(server.sent).toBeGreaterThan(bytes(size));
    expect(memoryOf(running.child.pid!, 'VmHWM') - before).toBeLessThan(bytes(growth));
  });
});
