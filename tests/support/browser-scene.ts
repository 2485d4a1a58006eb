// The scene of the pictures in the documentation: a real gateway, pretend providers, three sandboxes at work with real curl
// and git, a push that is refused, and requests that wait for a person. Run by scripts/screenshots.mjs; no test.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway } from '../../src/gateway/service.ts';
import { createLog } from '../../src/kit/text/log.ts';
import { scenePolicy } from './browser-scene-policy.ts';
import { type Answer, startFakeUpstream } from './fake-upstream.ts';
import { openGitSandbox } from './git-sandbox.ts';
import { startGitUpstream } from './git-upstream.ts';
import { runClient } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';
import { callAdmin } from './test-gateway.ts';

export interface Scene {
  /** An address of the page, good for one visit. */
  invite(): Promise<string>;
  /** Ten minutes of work, in as many seconds as it takes. */
  work(): Promise<void>;
  /** What git printed when its push was refused, once they have worked. */
  pushed(): string;
  /** Where its files lie: to be left out of the pictures. */
  readonly folder: string;
  /** Requests that wait for a person, once somebody looks; and what was answered. */
  ask(): Promise<void>;
  stop(): Promise<void>;
}

const githubToken = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const hosts = ['api.anthropic.com', 'api.openai.com', 'api.github.com', 'packages.example.com', 'pay.example.com'];

// The gateway's clock is wound on between bursts: ten minutes of traffic need not take ten minutes. It begins in the past.
const realNow = Date.now;
let behindMs = 0;
Date.now = () => realNow() - behindMs;
const steps = 56;

function windTo(ms: number): void {
  behindMs = realNow() - ms;
}

const answer: Answer = (request, response, body) => {
  const path = request.url.split('?')[0] ?? '/';
  response.setHeader('content-type', 'application/json');
  if (path.startsWith('/v1/messages') || path.startsWith('/v1/responses')) {
    const model = path.startsWith('/v1/messages') ? 'claude-sonnet-4-5' : 'gpt-5';
    const usage = { input_tokens: 6_000 + body.length * 40, output_tokens: 700 + (body.length % 7) * 130 };
    response.end(
      JSON.stringify({
        id: 'msg_1',
        type: 'message',
        model,
        content: [{ type: 'text', text: 'x'.repeat(2_400) }],
        usage,
      }),
    );
    return;
  }
  response.end(JSON.stringify({ ok: true, pad: 'x'.repeat(path.startsWith('/npm') ? 48_000 : 3_000) }));
};

export async function openScene(): Promise<Scene> {
  const startMs = realNow() - (steps + 4) * 10_000;
  windTo(startMs);
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-scene-'));
  // Named from where it lies, as `sallyport up` would be started there: no path of this machine is in the pictures.
  process.chdir(folder);
  const ca = makeTestCa();
  const upstream = await startFakeUpstream(ca, hosts, answer);
  const git = await startGitUpstream(ca, { 'github.com': `x-access-token:${githubToken}` });
  const bare = await git.create('acme/web');
  const main = await bare.commit({ branch: 'main', files: { 'README.md': '# web\n', 'src/login.ts': 'export {};\n' } });
  writeFileSync('sallyport.yaml', scenePolicy({ hosts, api: upstream.address, git: git.address, ca: ca.path }));
  const log = createLog({ level: 'silent' });
  const gateway = await startGateway({ home: join(folder, 'state'), config: 'sallyport.yaml', log });
  const admin = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const reply = await callAdmin(gateway.summary.adminSocket, method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
    return reply.body === '' ? {} : reply.json();
  };
  for (const [name, value] of Object.entries({
    anthropic: 'sk-ant-real-0123456789abcdef',
    openai: 'sk-real-0123456789abcdef',
    github: githubToken,
    payments: 'pay-real-0123456789abcdef',
  })) {
    await admin('PUT', `/internal/credentials/${name}`, value);
  }
  const door = /127\.0\.0\.1:\d+/.exec(gateway.summary.doors.join(' '))?.[0] ?? '';
  const proxies = new Map<string, string>();
  for (const { id, ...more } of sandboxes) {
    const { grant } = await admin('POST', '/internal/containers', { id, proof: ['secret'], ...more });
    proxies.set(id, `http://${id}:${(grant as { secret: string }).secret}@${door}`);
  }
  await admin('POST', '/internal/learning', { sandbox: 'gemini-research' });
  const proxyOf = (id: string): string => proxies.get(id) ?? '';
  const place = openGitSandbox({ proxyUrl: proxyOf('claude-fix-login'), caPath: gateway.summary.caPath });

  /** Several requests of one sandbox by one curl. */
  const curl = (id: string, requests: readonly string[]): Promise<unknown> => {
    const args = requests.flatMap((request, at) => {
      const [method = 'GET', url = '', body] = request.split(' ');
      const data = body === undefined ? [] : ['-H', 'content-type: application/json', '-d', body];
      const common = ['-sS', '-m', '60', '-o', '/dev/null', '-x', proxyOf(id), '--cacert', gateway.summary.caPath];
      return [...(at === 0 ? [] : ['--next']), ...common, '-X', method, ...data, url];
    });
    return runClient('curl', args, { timeoutMs: 90_000 });
  };
  const held: Promise<unknown>[] = [];
  let pushed = '';
  const push = async (): Promise<void> => {
    // It shows its proof at once, as it does in a sandbox that Sallyport starts.
    const basic = { GIT_HTTP_PROXY_AUTHMETHOD: 'basic' };
    await place.home.run(['clone', '--quiet', 'https://github.com/acme/web.git', 'web'], '', basic);
    const clone = place.home.below('web');
    await clone.commit({ branch: 'main', parents: [main], files: { 'src/login.ts': 'export const fixed = true;\n' } });
    const run = await clone.run(['push', 'origin', 'main'], '', basic);
    if (run.code === 0) throw new Error('the push was let through');
    pushed = run.stderr;
  };
  return {
    folder,
    async invite() {
      return String((await admin('POST', '/internal/dashboard')).address);
    },
    pushed: () => pushed,
    async work() {
      for (let step = 0; step < steps; step++) {
        windTo(startMs + step * 10_000);
        await Promise.all(sandboxes.map(({ id }, at) => curl(id, requestsOf(id, step + at * 7))));
      }
      for (const [at, [id, request]] of lastMinute.entries()) {
        windTo(startMs + steps * 10_000 + at * 3_200);
        await (request === 'push' ? push() : curl(id, [request]));
      }
    },
    async ask() {
      held.push(curl('claude-fix-login', ['POST https://pay.example.com/v1/refunds {"charge":"ch_1042"}']));
      held.push(curl('codex-docs', ['GET https://pay.example.com/v1/charges']));
      const requested = {
        url: 'https://docs.example.org/reference/oauth',
        method: 'GET',
        reason: 'The login page links to this reference; I need it to fix the redirect.',
      };
      await curl('claude-fix-login', [
        `POST http://sallyport.internal/requests ${JSON.stringify(requested).replaceAll(' ', '\\u0020')}`,
      ]);
    },
    async stop() {
      await gateway.stop();
      await Promise.all(held);
      await upstream.close();
      await git.close();
      place.remove();
      process.chdir('/');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const sandboxes = [
  { id: 'claude-fix-login', repos: ['acme/web'], allowed_branches: ['fix/*'], auth_mode: 'bot' },
  {
    id: 'codex-docs',
    repos: ['acme/docs'],
    allowed_branches: ['docs/*'],
    auth_mode: 'bot',
    credentials: ['openai', 'github'],
  },
  { id: 'gemini-research', repos: [], auth_mode: 'bot', credentials: [] },
];

/** What is on top of the feed: some of everything. */
const lastMinute: readonly (readonly [string, string])[] = [
  ['claude-fix-login', `POST https://api.anthropic.com/v1/messages {"model":"m"}`],
  ['codex-docs', `POST https://api.openai.com/v1/responses {"model":"m"}`],
  ['gemini-research', 'GET https://packages.example.com/npm/undici'],
  ['gemini-research', 'POST https://paste.example.net/new {}'],
  ['claude-fix-login', 'GET https://api.github.com/repos/acme/web/pulls/128'],
  ['claude-fix-login', 'PUT https://api.github.com/repos/acme/web/pulls/128/merge {}'],
  ['codex-docs', 'GET https://api.github.com/repos/acme/docs/issues/7'],
  ['claude-fix-login', 'push'],
  ['codex-docs', 'GET https://api.github.com/repos/acme/secrets/contents/keys.json'],
  ['gemini-research', 'GET https://packages.example.com/npm/markdown-it'],
  ['claude-fix-login', `POST https://api.anthropic.com/v1/messages {"model":"mm"}`],
  ['claude-fix-login', 'POST https://telemetry.example.net/v1/events {}'],
  ['codex-docs', `POST https://api.openai.com/v1/responses {"model":"mm"}`],
];

/** What an agent sends in ten seconds: more while it thinks aloud, now and then something it may not do. */
function requestsOf(id: string, step: number): string[] {
  const many = Math.max(0, Math.round(3 + 3 * Math.sin(step / 5) + 2 * Math.sin(step / 2.3)));
  const talk = `{"model":"m","messages":"${'x'.repeat(20 + ((step * 37) % 160))}"}`;
  if (id === 'claude-fix-login') {
    const list = Array.from({ length: many }, () => `POST https://api.anthropic.com/v1/messages ${talk}`);
    if (step % 4 === 0) list.push('GET https://api.github.com/repos/acme/web/pulls/128');
    if (step % 11 === 5) list.push('PUT https://api.github.com/repos/acme/web/pulls/128/merge {}');
    if (step % 6 === 2) list.push('POST https://telemetry.example.net/v1/events {}');
    return list;
  }
  if (id === 'codex-docs') {
    const list = Array.from({ length: Math.ceil(many / 2) }, () => `POST https://api.openai.com/v1/responses ${talk}`);
    if (step % 5 === 1) list.push('GET https://packages.example.com/npm/markdown-it');
    if (step % 9 === 4) list.push('GET https://api.github.com/repos/acme/secrets/contents/keys.json');
    return list.length === 0 ? ['GET https://api.github.com/repos/acme/docs/issues/7'] : list;
  }
  const list = ['GET https://packages.example.com/npm/undici'];
  if (step % 8 === 3) list.push('DELETE https://packages.example.com/npm/undici');
  if (step % 13 === 6) list.push('POST https://paste.example.net/new {}');
  return list;
}
