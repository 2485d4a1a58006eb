import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createContext } from '../../src/cli/cli-context.ts';
import { runCommandLine } from '../../src/cli/program.ts';
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
  ];
  upstream = await startFakeUpstream(ca, hosts);
  gateway = await startTestGateway({
    allow: [
      { preset: 'anthropic' },
      { preset: 'github' },
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
  await gateway.setSecret('gitlab', 'glpat-real0123456789');
  await gateway.setSecret('mistral', 'mistral-real-0123456789');
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

const workflow = 'https://api.github.com/repos/o/r/contents/.github/workflows/x.yml';
const review = 'https://api.github.com/repos/o/r/pulls/7/reviews';
const mutation = 'mutation { mergePullRequest(input: {pullRequestId: "PR_kwDOAA"}) { clientMutationId } }';

describe('and with a body, the decision that the body makes', () => {
  test.each<[string, string, unknown]>([
    ['PUT', workflow, { branch: 'main', message: 'x', content: '' }],
    ['PUT', workflow, { branch: 'sandbox/x', message: 'x', content: '' }],
    ['PUT', 'https://api.github.com/repos/o/r/contents/README.md', { branch: 'sandbox/x', message: 'x', content: '' }],
    ['PUT', 'https://api.github.com/repos/o/r/contents/README.md?branch=main', { branch: 'sandbox/x' }],
    ['POST', review, { event: 'COMMENT', body: 'fine' }],
    ['POST', review, { event: 'APPROVE' }],
    ['POST', review, ['APPROVE']],
    ['POST', 'https://api.github.com/repos/o/r/issues', { title: 'x' }],
    ['POST', 'https://api.github.com/graphql', { query: '{ viewer { login } }' }],
    ['POST', 'https://api.github.com/graphql', { query: mutation }],
  ])('%s %s %o', async (method, url, body) => {
    const file = join(gateway.home, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    const { exit, result } = await check(method, url, '--body', file);
    const record = await doIt(method, url, ['Content-Type: application/json'], ['--data-binary', `@${file}`]);
    const allowed = record.verdict === 'allowed';
    expect({ ...result, exit }).toMatchObject({
      allowed,
      exit: allowed ? 0 : 3,
      code: allowed ? 'allowed' : record.code,
      rule: record.rule,
      credential: record.credential,
    });
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
