// Private registries of the user in a sandbox: npm and skopeo work with what they find there, the far side gets the user's own login,
// and the sandbox has neither it nor a token that was made with it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeRunGround, type RunGround, readableByAll } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const npmToken = 'npm_real0123456789abcdef';
const pair = Buffer.from('ann:image-password-7f3a').toString('base64');
const imageToken = 'real-image-token-for-';
const hosts = ['npm.corp.example', 'images.corp.example', 'auth.corp.example'];
let upstream: FakeUpstream;
let ground: RunGround;
let asked: string[] = [];

const manifest = JSON.stringify({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: `sha256:${'0'.repeat(64)}`, size: 2 },
  layers: [],
});

const answer: Parameters<typeof startFakeUpstream>[2] = (request, response) => {
  const { authorization = '' } = request.headers;
  const host = String(request.headers[':authority'] ?? request.headers.host);
  const url = new URL(request.url ?? '/', `https://${host}`);
  asked.push(`${host}${url.pathname}${url.search} ${authorization}`);
  const json = (status: number, value: unknown, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  };
  if (host === 'npm.corp.example') {
    if (authorization !== `Bearer ${npmToken}`) return json(401, {});
    return json(200, { username: 'ann-of-corp' });
  }
  if (host === 'auth.corp.example') {
    if (authorization !== `Basic ${pair}`) return json(401, {});
    return json(200, { token: `${imageToken}${url.searchParams.get('scope')}`, expires_in: 300 });
  }
  const scope = url.pathname === '/v2/' ? 'null' : 'repository:team/app:pull';
  if (authorization !== `Bearer ${imageToken}${scope}`) {
    const challenge = 'Bearer realm="https://auth.corp.example/token",service="images.corp.example"';
    return json(401, { errors: [{ code: 'UNAUTHORIZED' }] }, { 'www-authenticate': challenge });
  }
  if (url.pathname === '/v2/') return json(200, {});
  response.writeHead(200, { 'content-type': 'application/vnd.oci.image.manifest.v1+json' });
  response.end(manifest);
};

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, hosts, answer);
  ground = makeRunGround({
    allow: [{ host: hosts.slice(0, 2) }],
    upstream: {
      ca: readableByAll(ca.path),
      resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])),
    },
  });
  const keep = (path: string, text: string): void => {
    const file = join(ground.homeOf('root'), path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  };
  keep('.npmrc', `registry=https://npm.corp.example/\n//npm.corp.example/:_authToken=${npmToken}\n`);
  keep('.docker/config.json', JSON.stringify({ auths: { 'images.corp.example': { auth: pair } } }));
});

afterAll(async () => {
  await upstream.close();
  ground.remove();
});

const inSandbox = (script: string) => ground.sallyport('root', ['run', '--', 'sh', '-c', script]);

test('npm finds its registry and a placeholder, and the registry gets the token of the user', async () => {
  asked = [];
  const { code, stdout, stderr } = await inSandbox('cat ~/.npmrc; npm whoami --no-update-notifier');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('_authToken=sallyport-placeholder-for-npm-npm_corp_example-the-gateway');
  expect(stdout).toContain('ann-of-corp');
  expect(stdout).not.toContain(npmToken);
  expect(asked).toContain(`npm.corp.example/-/whoami Bearer ${npmToken}`);
  expect(ground.journal('root').at(-1)).toMatchObject({ credential: 'npm-npm.corp.example' });
});

test('skopeo reads an image with a token that was made outside, for this repository alone', async () => {
  asked = [];
  const inspect = 'skopeo inspect --raw docker://images.corp.example/team/app:1';
  const ask = 'curl -sS -o /dev/null -w "%{http_code} "';
  // The token endpoint is not for a sandbox, and a token is for one repository.
  const others = `${ask} https://auth.corp.example/token; ${ask} https://images.corp.example/v2/other/app/manifests/1`;
  const { code, stdout, stderr } = await inSandbox(`cat ~/.docker/config.json; ${inspect}; env; ${others}`);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('"schemaVersion":2');
  for (const secret of [pair, 'image-password-7f3a', imageToken]) expect(stdout).not.toContain(secret);
  expect(asked).toContain(
    `auth.corp.example/token?service=images.corp.example&scope=repository%3Ateam%2Fapp%3Apull Basic ${pair}`,
  );
  expect(asked).toContain(`images.corp.example/v2/team/app/manifests/1 Bearer ${imageToken}repository:team/app:pull`);
  const records = ground.journal('root').filter(({ host }) => host === 'images.corp.example');
  expect(records.map(({ status }) => status)).toEqual([200, 200, 401]);
  expect(stdout).toMatch(/403 401 $/);
  expect(asked).toContain(`images.corp.example/v2/other/app/manifests/1 Bearer ${imageToken}repository:other/app:pull`);
});
