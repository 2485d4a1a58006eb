import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeRunGround, type RunGround, readableByAll, runUsers } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const key = 'sk-real-0123456789abcdef';
let upstream: FakeUpstream;
let ground: RunGround;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.example.com'], (_request, response) => response.end('an answer\n'));
  ground = makeRunGround({
    allow: [{ host: 'api.example.com', paths: ['/v1/**'] }],
    credentials: {
      example: {
        hosts: ['api.example.com'],
        inject: { header: 'x-api-key' },
        source: { env: 'EXAMPLE_KEY', i_accept_environment: true },
      },
    },
    upstream: { ca: readableByAll(ca.path), resolve: { 'api.example.com': upstream.address } },
  });
});

afterAll(async () => {
  await upstream.close();
  ground.remove();
});

test('a key that others can read is not a key that is not there: the start says so, and what to do', async () => {
  const file = join(ground.homeOf('root'), 'open-key');
  const config = join(ground.homeOf('root'), 'open-key.yaml');
  writeFileSync(file, key, { mode: 0o644 });
  const credentials = { example: { hosts: ['api.example.com'], inject: { bearer: true }, source: { file } } };
  writeFileSync(config, JSON.stringify({ version: 1, allow: [{ host: 'api.example.com' }], credentials }));
  const { code, stdout, stderr } = await ground.sallyport('root', ['run', '--config', config, '--', 'echo', 'fine']);
  expect([code, stdout]).toEqual([0, 'fine\n']);
  expect(stderr).toContain(`the credential example cannot be used: ${file} is open to other users (mode 644)`);
  expect(stderr).toContain(`chmod 600 ${file}`);
});

describe.each(runUsers)('sallyport run as %s', (user) => {
  const run = (script: string, options: readonly string[] = [], input = '') =>
    ground.sallyport(user, ['run', ...options, '--', 'sh', '-c', script], { input, env: { EXAMPLE_KEY: key } });

  test('the first connection of the command works, with a key that the sandbox never held', async () => {
    upstream.seen.length = 0;
    const { code, stdout, stderr } = await run('curl -sS https://api.example.com/v1/x; env; cat /proc/[0-9]*/environ');
    expect(stderr).toBe('');
    expect(stdout).toContain('an answer');
    expect(stdout).toContain('SALLYPORT_SANDBOX=sbx_');
    expect(stdout).not.toContain(key);
    expect(code).toBe(0);
    expect(upstream.seen).toHaveLength(1);
    expect(upstream.seen[0]!.headers['x-api-key']).toBe(key);
    const record = ground.journal(user).at(-1)!;
    expect(record).toMatchObject({
      host: 'api.example.com',
      verdict: 'allowed',
      credential: 'example',
      proof: ['socket'],
    });
    expect(String(record.destination)).toMatch(/^(198\.1[89]\.|\[?fd73:)/);
  });

  test('clients of every kind work without a proxy variable', async () => {
    const script = [
      'curl -sS4 https://api.example.com/v1/curl4',
      'curl -sS6 https://api.example.com/v1/curl6',
      `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("https://api.example.com/v1/python").read())'`,
      `node -e 'fetch("https://api.example.com/v1/node").then((r) => r.text()).then(console.log)'`,
      'curl -sS -x "$SALLYPORT_PROXY" https://api.example.com/v1/proxy',
      'git ls-remote https://api.example.com/v1/git 2>&1 | head -2',
      'env | grep -i _proxy= | grep -v SALLYPORT_PROXY',
    ].join('\n');
    upstream.seen.length = 0;
    const { stdout } = await run(script);
    expect(upstream.seen.map(({ url }) => url).filter((url) => !url.includes('git'))).toEqual(
      ['curl4', 'curl6', 'python', 'node', 'proxy'].map((name) => `/v1/${name}`),
    );
    expect(stdout.match(/an answer/g)).toHaveLength(5);
    expect(stdout).not.toMatch(/_proxy=/i);
  });

  test('a refusal says why, and where it went is written down', async () => {
    const { stdout } = await run(
      'curl -sS https://api.example.com/v2/no; curl -sS https://203.0.113.7/; curl -sS -m 5 https://other.example/ 2>&1; curl -sS -m 5 https://api.example.com:8443/ 2>&1',
    );
    expect(stdout).toContain('"code":"path.not-allowed"');
    expect(stdout).toContain('"code":"target.literal-address"');
    expect(stdout).toContain('"code":"domain.not-allowed"');
    expect(stdout).toContain("Couldn't connect to server");
    expect(ground.journal(user)).toContainEqual(
      expect.objectContaining({ code: 'target.literal-address', destination: '203.0.113.7:443', verdict: 'refused' }),
    );
    expect(ground.journal(user)).toContainEqual(expect.objectContaining({ host: 'other.example', verdict: 'refused' }));
  });

  test('input, output, exit code and the working directory are the command’s own', async () => {
    const { code, stdout, stderr } = await run('cat; echo to-stderr >&2; echo x > made; exit 42', [], 'from outside\n');
    expect(stdout).toBe('from outside\n');
    expect(stderr).toBe('to-stderr\n');
    expect(code).toBe(42);
    const made = join(ground.projectOf(user), 'made');
    expect(readFileSync(made, 'utf8')).toBe('x\n');
    expect(statSync(made).uid).toBe(statSync(ground.projectOf(user)).uid);
    expect((await run('kill -TERM $$')).code).toBe(143);
  });

  test('the home is fresh, or kept when it is asked for; the user’s own is never there', async () => {
    writeFileSync(join(ground.homeOf(user), 'secret-notes'), 'notes');
    expect((await run('ls -A ~; touch ~/mine')).stdout).not.toContain('secret-notes');
    expect((await run('ls -A ~')).stdout).not.toContain('mine');
    await run('touch ~/mine', ['--home', 'persist']);
    expect((await run('ls -A ~', ['--home', 'persist'])).stdout).toContain('mine');
    expect(existsSync(join(ground.homeOf(user), 'mine'))).toBe(false);
  });

  test('folders and variables are let in when they are asked for, and dangerous ones never', async () => {
    writeFileSync(join(ground.homeOf(user), 'notes.txt'), 'notes\n');
    const notes = join(ground.homeOf(user), 'notes.txt');
    const read = await run(`cat ${notes}; echo y 2>/dev/null >> ${notes} || echo read-only; echo $COLOUR`, [
      ...['--ro', notes, '--env', 'COLOUR=blue'],
    ]);
    expect(read.stdout).toBe('notes\nread-only\nblue\n');
    const state = await run('true', ['--ro', ground.stateOf(user)]);
    expect([state.code, state.stdout]).toEqual([125, '']);
    expect(state.stderr).toContain('state');
    expect(state.stderr).toMatch(/^sallyport: /);
    const secret = await run('true', ['--env', 'EXAMPLE_KEY']);
    expect(secret.code).toBe(125);
    expect(secret.stderr).not.toContain(key);
  });

  test('what cannot be started says so with 125, and nothing is left behind', async () => {
    const lost = await ground.sallyport(user, ['run', '--', 'no-such-program']);
    expect(lost.code).toBe(125);
    expect(lost.stderr).toContain('no-such-program');
    expect(readdirSync(join(ground.stateOf(user), 'sandboxes'))).toEqual([]);
  });
});
