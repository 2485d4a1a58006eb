// Where attacks on GitHub's API take place: a whole gateway, a sandbox for `acme/widgets` as a person's (any branch that is
// not protected), a recording API behind it, and a real git server as the git side of the same repository.
import { expect } from 'vitest';
import { type FakeUpstream, type SeenRequest, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { GitFolder } from '../../support/git-folder.ts';
import { startGitUpstream } from '../../support/git-upstream.ts';
import { type RawAnswer, sendTunnelled } from '../../support/raw-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const token = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const enterpriseToken = 'ghp_enterprise0123456789abcdefghijklmn';
export const enterpriseHost = 'ghe.example.com';

export interface ApiCall {
  readonly method: string;
  /** Path and query, sent as they are. */
  readonly target: string;
  /** Sent as JSON, or as it is when it is text or bytes. */
  readonly body?: unknown;
  /** Default: JSON when there is a body. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly host?: string;
}

export interface ScriptedReply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface GithubAttackGround {
  readonly gateway: TestGateway;
  readonly api: FakeUpstream;
  /** The git side of acme/widgets; `main` has a README and a workflow, `sandbox/work` stands on it. */
  readonly bare: GitFolder;
  readonly main: string;
  call(call: ApiCall): Promise<RawAnswer>;
  /** What arrived at the API that was not a question of the gateway itself. */
  arrived(): SeenRequest[];
  /** Refused under this code, and nothing of it arrived. */
  expectRefused(call: ApiCall, code: string | RegExp): Promise<RawAnswer>;
  /** Arrived, once, with the credential; as it arrived. */
  expectPassed(call: ApiCall): Promise<SeenRequest>;
  stop(): Promise<void>;
}

export interface GithubGroundOptions {
  readonly registration?: Record<string, unknown>;
  readonly config?: Record<string, unknown>;
  /** By `METHOD /path`; everything else is 200 and an empty object. */
  readonly replies?: Readonly<Record<string, ScriptedReply>>;
}

export async function openGithubGround(options: GithubGroundOptions = {}): Promise<GithubAttackGround> {
  const ca = makeTestCa();
  const names = ['api.github.com', 'uploads.github.com', enterpriseHost, 'ghe.unlisted.example'];
  const replies = options.replies ?? {};
  const api = await startFakeUpstream(ca, names, (request, response) => {
    const reply = replies[`${request.method} ${request.url}`] ?? { status: 200 };
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify(reply.body ?? {}));
  });
  const git = await startGitUpstream(ca, { 'github.com': `x-access-token:${token}` });
  const bare = await git.create('acme/widgets');
  const main = await bare.commit({
    branch: 'main',
    files: { 'README.md': 'read me\n', '.github/workflows/ci.yml': 'on: push\n' },
  });
  await bare.commit({ branch: 'sandbox/work', parents: [main], files: { 'a.txt': 'a\n' } });
  const gateway = await startTestGateway({
    allow: [{ preset: 'github' }, { host: enterpriseHost }],
    github: { hosts: [enterpriseHost] },
    credentials: { enterprise: { hosts: [enterpriseHost], inject: { bearer: true } } },
    upstream: {
      resolve: { ...Object.fromEntries(names.map((name) => [name, api.address])), 'github.com': git.address },
      ca: ca.path,
    },
    ...options.config,
  });
  await gateway.register({
    container_ip: '127.0.0.1',
    repos: ['acme/widgets'],
    auth_mode: 'user',
    ...options.registration,
  });
  await gateway.setSecret('github', token);
  await gateway.setSecret('enterprise', enterpriseToken);
  const call = (one: ApiCall): Promise<RawAnswer> =>
    sendTunnelled(gateway, one.host ?? 'api.github.com', bytesOf(one), { waitMs: 10_000 });
  const arrived = (): SeenRequest[] => api.seen.filter(({ headers }) => headers['user-agent'] !== 'sallyport');
  return {
    gateway,
    api,
    bare,
    main,
    call,
    arrived,
    async expectRefused(one, code) {
      api.seen.length = 0;
      const answer = await call(one);
      expect({ code: answer.code, said: answer.text }).toMatchObject({ code: expect.stringMatching(code) });
      expect(arrived()).toEqual([]);
      return answer;
    },
    async expectPassed(one) {
      api.seen.length = 0;
      const answer = await call(one);
      expect([answer.code, answer.text.includes(' 500 ')]).toEqual([null, false]);
      expect(arrived()).toHaveLength(1);
      const [seen] = arrived();
      const injected = one.host === enterpriseHost ? enterpriseToken : token;
      expect(seen?.headers.authorization).toMatch(new RegExp(`^\\w+ ${injected}$`));
      return seen!;
    },
    async stop() {
      await gateway.stop();
      await api.close();
      await git.close();
    },
  };
}

function bytesOf({ method, target, body, headers = {}, host = 'api.github.com' }: ApiCall): Buffer {
  const payload =
    body === undefined ? null : Buffer.isBuffer(body) || typeof body === 'string' ? Buffer.from(body) : json(body);
  const fields: Record<string, string> = {
    Host: host,
    Connection: 'close',
    ...(payload === null ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(payload.length) }),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`),
    payload ?? Buffer.alloc(0),
  ]);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
