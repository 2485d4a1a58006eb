import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createContext } from '../../src/cli/cli-context.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { placeholderFor } from '../../src/kit/text/placeholder.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

let upstream: FakeUpstream;
let gateway: TestGateway;
let id: string;

beforeAll(async () => {
  const ca = makeTestCa();
  const hosts = [
    'api.anthropic.com',
    'api.github.com',
    'github.com',
    'gitlab.com',
    'api.mistral.ai',
    'api.example.com',
    'mirror.example',
    'unset.example',
    'pinned.example',
    'platform.claude.com',
    'api.openai.com',
    'gitlab.com',
  ];
  upstream = await startFakeUpstream(ca, hosts);
  gateway = await startTestGateway({
    allow: [
      { preset: 'anthropic' },
      { preset: 'github' },
      { preset: 'openai' },
      { preset: 'gitlab' },
      { preset: 'mistral', effects: ['mint-credential'] },
      { host: 'api.example.com', methods: ['GET', 'POST'], paths: ['/v1/**'] },
      { host: 'odd.example', ports: [8443] },
      { host: 'unset.example' },
      { host: 'pinned.example', tunnel: true },
    ],
    credentials: { unset: { hosts: ['unset.example'], inject: { bearer: true } } },
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  ({ id } = await gateway.register({ container_ip: '127.0.0.1', repos: ['o/r'] }));
  await gateway.setSecret('anthropic', 'sk-ant-real-0123456789');
  await gateway.setSecret('github', 'ghp_real0123456789');
  await gateway.setSecret('mistral', 'mistral-real-0123456789');
  await gateway.setSecret('openai', 'sk-real-openai-0123456789');
  await gateway.setSecret('gitlab', 'glpat-real0123456789');
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

async function check(...args: string[]): Promise<{ exit: number; result: Record<string, unknown> }> {
  return run('check', ...args, '--sandbox', id);
}

async function run(...args: string[]): Promise<{ exit: number; result: Record<string, unknown> }> {
  let printed = '';
  const context = createContext({
    env: { SALLYPORT_HOME: join(gateway.home, 'state') },
    cwd: gateway.home,
    stdin: Readable.from([]),
    stdout: { write: (text: string) => (printed += text) },
    stderr: { write: (text: string) => (printed += text) },
  });
  const exit = await runCommandLine([...args, '--json'], context);
  return { exit, result: JSON.parse(printed) as Record<string, unknown> };
}

/** What the path did with it, as it stands in the journal. */
async function doIt(
  method: string,
  url: string,
  headers: readonly string[],
  body: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const before = (await gateway.journal()).length;
  await runClient('curl', [
    ...['-sS', '-m', '30', '--path-as-is', '-x', gateway.proxyUrl, '--cacert', gateway.caPath, '-X', method, url],
    ...headers.flatMap((header) => ['-H', header]),
    ...body,
  ]);
  const records = await gateway.journal();
  expect(records.length).toBe(before + 1);
  return records.at(-1)!;
}

const requests: readonly (readonly [method: string, url: string, ...headers: string[]])[] = [
  ['POST', 'https://api.anthropic.com/v1/messages'],
  ['GET', 'https://api.anthropic.com/api/event_logging'],
  ['POST', 'https://api.anthropic.com/v1/skills'],
  ['POST', 'https://api.anthropic.com/v1/Messages'],
  ['POST', 'https://api.anthropic.com/v1/sessions'],
  ['GET', 'https://api.anthropic.com/v1/Sessions/s%31/events;x'],
  ['POST', 'https://api.anthropic.com/v1/vaults'],
  ['POST', 'https://api.anthropic.com/v1/oauth/token.json'],
  ['GET', 'https://gitlab.com/api/v4/projects/o%2Fr/access_tokens'],
  ['POST', 'https://gitlab.com/api/v4/projects/o%2Fr/access_tokens'],
  ['GET', 'https://gitlab.com/api/v4/projects/o%2Fr/access_tokens', 'X-HTTP-Method-Override: POST'],
  ['POST', 'https://gitlab.com/api/graphql'],
  ['POST', 'https://api.mistral.ai/v1/agents'],
  ['POST', 'https://api.mistral.ai/v1/client/sessions'],
  ['GET', 'https://api.example.com/v1/things?q=1'],
  ['DELETE', 'https://api.example.com/v1/things'],
  ['GET', 'https://api.example.com/v2/things'],
  ['GET', 'https://api.example.com/v1/%2e%2e/v2'],
  ['POST', 'https://api.example.com/v1/x', 'X-HTTP-Method-Override: DELETE'],
  ['GET', 'https://api.example.com/v1/dns', 'Accept: application/dns-message'],
  ['GET', 'https://elsewhere.example/'],
  ['GET', 'https://elsewhere.example:8443/'],
  ['GET', 'https://api.example.com:8443/v1/things'],
  ['GET', 'http://api.example.com/v1/things'],
  ['GET', 'https://127.0.0.1/'],
  ['GET', 'https://2130706433/'],
  ['GET', 'https://unset.example/'],
  ['GET', 'https://pinned.example/'],
  ['GET', 'https://pinned.example:8443/'],
  ['GET', 'https://api.github.com/repos/o/r/issues'],
  ['GET', 'https://api.github.com/repos/o/other/issues'],
  ['DELETE', 'https://api.github.com/repos/o/r'],
  ['PUT', 'https://api.github.com/repos/o/r/pulls/1/merge'],
  ['GET', 'https://api.github.com/graphql?query=x'],
  ['GET', 'https://api.github.com/user/repos'],
  ['GET', 'https://api.github.com/repositories/7/issues'],
  ['GET', 'https://api.github.com/search/issues?q=x'],
  ['GET', 'https://github.com/o/r.git/info/refs?service=git-upload-pack'],
  ['GET', 'https://github.com/o/r.git/info/refs?service=git-receive-pack'],
  ['GET', 'https://github.com/o/other.git/info/refs?service=git-upload-pack'],
  ['GET', 'https://github.com/o%2Fr.git/info/refs?service=git-upload-pack'],
  ['GET', 'https://github.com/o/r.git/HEAD'],
  ['GET', 'https://github.com/o/r/info/lfs/locks'],
  ['GET', 'https://github.com/o/r.git/info/lfs/objects/not-a-ticket'],
  ['PUT', 'https://github.com/o/r.git/info/lfs/objects/not-a-ticket'],
  ['GET', 'https://gitlab.com/o/r.git/info/refs?service=git-receive-pack'],
  ['DELETE', 'https://api.github.com/repos/o/r/git/refs/heads/sandbox/x'],
  ['DELETE', 'https://api.github.com/repos/o/r/git/refs/heads/main'],
  ['DELETE', 'https://api.github.com/repos/o/r/git/refs/tags/v1'],
  ['DELETE', 'https://api.github.com/repos/o/r/git/refs/heads/x~0'],
  ['DELETE', 'https://api.github.com/repos/o/r/git/refs/heads/x?force=true'],
  ['DELETE', 'https://api.github.com/repos/o/r/git/refs/heads%2Fx'],
  ['DELETE', 'https://api.github.com/repos/O/R/git/refs/heads/x/'],
  ['POST', 'https://api.github.com/repos/o/r/merge-upstream'],
  ['PUT', 'https://api.github.com/repos/o/r/contents/x?branch=main'],
  ['POST', 'https://api.github.com/repos/o/r/issues', 'X-HTTP-Method-Override: PATCH'],
  ['POST', 'https://api.github.com/user/keys'],
  ['GET', 'https://api.github.com/orgs/o/hooks'],
  ['POST', 'https://api.github.com/agents/repos/o/r/tasks'],
  ['GET', 'https://api.github.com/agents/tasks'],
  ['POST', 'https://api.anthropic.com/v1/sessions'],
  ['POST', 'https://api.anthropic.com/v1//SESSIONS/'],
  ['POST', 'https://api.openai.com/v1/realtime/client_secrets'],
  ['POST', 'https://api.openai.com/v1/responses'],
  ['GET', 'https://api.openai.com/v1/models'],
  ['POST', 'https://gitlab.com/oauth/token.json'],
  ['GET', 'https://gitlab.com/oauth/authorize'],
  ['GET', 'https://platform.claude.com/v1/oauth/token'],
  ['GET', 'http://sallyport.internal/policy'],
];

describe('`sallyport check` gives the decision of the path', () => {
  test.each(requests)('%s %s', async (method, url, ...headers) => {
    const given = headers.filter((header) => header !== undefined);
    const { exit, result } = await check(method, url, ...given.flatMap((header) => ['--header', header]));
    const record = await doIt(method, url, given);
    const allowed = record.verdict === 'allowed';
    expect({ ...result, exit }).toMatchObject({
      allowed,
      exit: allowed ? 0 : 3,
      status: record.status,
      code: allowed ? 'allowed' : record.code,
      rule: record.rule,
      credential: record.credential,
    });
  });
});

test('and says which key would send a credential to a path that is not on its list', async () => {
  const { result } = await check('POST', 'https://api.anthropic.com/v1/skills');
  expect(result).toMatchObject({ allowed: true, credential: null });
  expect(result.hint).toContain('adds "/v1/skills" to credentials.anthropic.add_paths');
  expect((await check('POST', 'https://api.anthropic.com/v1/messages')).result.hint).toBe('');
  expect((await check('POST', 'https://api.mistral.ai/v1/client/sessions')).result.credential).toBe('mistral');
});

const repo = 'https://api.github.com/repos/o/r';
const graphql = 'https://api.github.com/graphql';
const lfs = 'https://github.com/o/r.git/info/lfs';
const claude = 'https://platform.claude.com/v1/oauth/token';
const workflow = `${repo}/contents/.github/workflows/x.yml`;
const readme = `${repo}/contents/README.md`;
const review = `${repo}/pulls/7/reviews`;
const mutation = 'mutation { mergePullRequest(input: {pullRequestId: "PR_kwDOAA"}) { clientMutationId } }';
const commit = (branchName: string, path: string) => ({
  query: `mutation { createCommitOnBranch(input: {branch: {repositoryNameWithOwner: "o/r", branchName: "${branchName}"},
    message: {headline: "x"}, expectedHeadOid: "${'1'.repeat(40)}",
    fileChanges: {additions: [{path: "${path}", contents: ""}]}}) { clientMutationId } }`,
});
const upload = (name: string) => ({
  operation: 'upload',
  ref: { name },
  objects: [{ oid: 'a'.repeat(64), size: 1 }],
});

describe('and with a body, the decision that the body makes', () => {
  test.each<[string, string, unknown, type?: string]>([
    ['PUT', workflow, { branch: 'main', message: 'x', content: '' }],
    ['PUT', workflow, { branch: 'sandbox/x', message: 'x', content: '' }],
    ['PUT', readme, { branch: 'sandbox/x', message: 'x', content: '' }],
    ['PUT', readme, { branch: 'heads/sandbox/x', message: 'x', content: '' }],
    ['PUT', readme, {}],
    ['PUT', `${readme}?branch=main`, { branch: 'sandbox/x' }],
    ['PUT', `${repo}/contents/a//b`, { branch: 'sandbox/x' }],
    ['DELETE', `${repo}/git/refs/heads/sandbox/x`, {}],
    ['POST', review, { event: 'COMMENT', body: 'fine' }],
    ['POST', review, { event: 'APPROVE' }],
    ['POST', review, ['APPROVE']],
    ['POST', `${repo}/issues`, { title: 'x' }],
    ['POST', `${repo}/issues`, { title: 'x', assignees: ['copilot'] }],
    ['POST', `${repo}/issues/7/comments`, { body: 'thanks' }],
    ['POST', `${repo}/issues/7/comments`, { body: '@copilot go' }],
    ['POST', `${repo}/issues/7/comments?x=1`, { body: 'thanks' }],
    ['POST', `${repo}/pulls/7/requested_reviewers`, { reviewers: ['copilot-pull-request-reviewer[bot]'] }],
    ['POST', `${repo}/git/trees`, { tree: [{ path: './x', mode: '100644', type: 'blob', content: '' }] }],
    ['POST', `${repo}/merges`, { base: 'sandbox/x', head: 'main~0' }],
    ['POST', graphql, { query: '{ viewer { login } }' }],
    ['POST', graphql, { query: mutation }],
    ['POST', graphql, commit('sandbox/x', 'a.txt')],
    ['POST', graphql, commit('heads/sandbox/x', 'a.txt')],
    ['POST', graphql, commit('sandbox/x', '.github//workflows/x')],
    ['POST', graphql, { query: '{ viewer { login } }' }, 'text/plain'],
    ['POST', `${lfs}/objects/batch`, upload('refs/heads/sandbox/x'), 'application/vnd.git-lfs+json'],
    ['POST', `${lfs}/objects/batch`, upload('refs/heads/main'), 'application/vnd.git-lfs+json'],
    ['POST', `${lfs}/objects/batch`, { operation: 'upload' }, 'application/vnd.git-lfs+json'],
    ['POST', `${lfs}/objects/batch`, upload('refs/heads/sandbox/x'), 'application/json'],
    ['POST', `${lfs}/locks/7/unlock`, { force: true }, 'application/vnd.git-lfs+json'],
    ['POST', `${lfs}/locks/verify`, {}, 'application/vnd.git-lfs+json'],
    ['POST', 'https://github.com/o/r.git/git-upload-pack', {}, 'text/plain'],
    ['POST', claude, { grant_type: 'authorization_code', code: 'c' }],
    ['POST', claude, { grant_type: 'refresh_token', refresh_token: 'found-somewhere' }],
    ['POST', claude, { grant_type: 'refresh_token', refresh_token: placeholderFor('anthropic') }],
    ['POST', claude, 'x', 'text/plain'],
    ['POST', 'https://api.openai.com/v1/responses', { model: 'm', input: 'hello' }],
    ['POST', 'https://api.example.com/v1/x', { text: 'plain' }],
    ['POST', 'https://api.example.com/v1/x', { text: 'sk-ant-real-0123456789' }],
  ])('%s %s %o %s', async (method, url, body, type = 'application/json') => {
    const file = join(gateway.home, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    const { exit, result } = await check(method, url, '--body', file, '--header', `Content-Type: ${type}`);
    const record = await doIt(method, url, [`Content-Type: ${type}`], ['--data-binary', `@${file}`]);
    const allowed = record.verdict === 'allowed';
    expect({ ...result, exit }).toMatchObject({
      allowed,
      exit: allowed ? 0 : 3,
      code: allowed ? 'allowed' : record.code,
      rule: record.rule,
      ...(allowed && { credential: record.credential }),
    });
  });
});

describe('and where a body would decide and none is given, that it depends on it', () => {
  test.each([
    ['PUT', readme],
    ['DELETE', readme],
    ['POST', `${repo}/git/refs`],
    ['PATCH', `${repo}/git/refs/heads/sandbox/x`],
    ['POST', `${repo}/issues`],
    ['POST', `${repo}/issues/7/comments`],
    ['POST', review],
    ['POST', graphql],
    ['POST', `${lfs}/objects/batch`],
    ['POST', claude],
  ])('%s %s', async (method, url) => {
    const { exit, result } = await check(method, url);
    expect({ ...result, exit }).toMatchObject({
      allowed: false,
      exit: 6,
      status: 0,
      code: 'undecided',
      reason: 'it depends on the body, and none was given',
      hint: 'Give the body: --body FILE.',
    });
  });

  test('a push is left to the door, with or without a body', async () => {
    const url = 'https://github.com/o/r.git/git-receive-pack';
    const { exit, result } = await check('POST', url);
    expect({ ...result, exit }).toMatchObject({ exit: 6, code: 'undecided', hint: expect.stringContaining('push:') });
  });
});

describe('and the policy of a sandbox in sentences, as the gateway holds it', () => {
  test('with its repositories, and which credentials are set', async () => {
    const { exit, result } = await run('policy', 'explain', '--sandbox', id);
    expect(exit).toBe(0);
    const sentences = (result.sections as { sentences: string[] }[]).flatMap((section) => section.sentences);
    expect(sentences).toContain('The sandbox may fetch from, and push to, o/r.');
    expect(sentences.find((text) => text.startsWith('anthropic goes'))).toMatch(/It is set\.$/);
    expect(sentences.find((text) => text.startsWith('unset goes'))).toMatch(/It is not set, so requests that need it/);
    expect(sentences.join()).not.toContain('sk-ant-real');
  });
});
