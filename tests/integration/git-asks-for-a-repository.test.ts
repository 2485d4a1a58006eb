import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientEnvironment } from '../support/client-environment.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const token = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const commit = '1f7a7a472abf3dd9643fd615f6da379c4acb3e3a';
let upstream: FakeUpstream;
let gateway: TestGateway;

function packetLine(text: string): string {
  return `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
}

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['github.com'], (_request, response) => {
    response.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
    response.end(
      `${packetLine('# service=git-upload-pack\n')}0000${packetLine(`${commit} refs/heads/main\0agent=fake\n`)}0000`,
    );
  });
  gateway = await startTestGateway({
    allow: [{ preset: 'github' }],
    upstream: { resolve: { 'github.com': upstream.address }, ca: ca.path },
  });
  await gateway.register({ container_ip: '127.0.0.1', repos: ['Owner/Allowed'] });
  await gateway.setSecret('github', token);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function git(...args: string[]) {
  const env = { ...clientEnvironment(gateway), GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' };
  return runClient('git', args, { env });
}

describe('git reaches the repositories of its sandbox and no other', () => {
  test('a repository of the sandbox is listed, with the token as git takes it', async () => {
    const run = await git('ls-remote', 'https://github.com/owner/allowed.git');
    expect(run.stderr).toBe('');
    expect(run.stdout).toBe(`${commit}\trefs/heads/main\n`);
    const seen = upstream.seen.at(-1)!;
    expect(seen.url).toBe('/owner/allowed.git/info/refs?service=git-upload-pack');
    expect(seen.headers.authorization).toBe(`Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`);
  });

  test('a key in the URL of the remote does not get out', async () => {
    const run = await git('ls-remote', 'https://placeholder:secret@github.com/owner/allowed');
    expect(run.code).toBe(0);
    expect(upstream.seen.at(-1)!.headers.authorization).toContain('Basic ');
    expect(
      Buffer.from(String(upstream.seen.at(-1)!.headers.authorization).slice(6), 'base64').toString(),
    ).not.toContain('placeholder');
  });

  test('another repository is refused in words that git shows', async () => {
    const before = upstream.seen.length;
    const run = await git('ls-remote', 'https://github.com/owner/other.git');
    expect(run.code).toBe(128);
    expect(run.stderr).toMatch(/^remote: owner\/other is not among the repositories of sbx_/m);
    expect(run.stderr).toContain('The requested URL returned error: 403');
    expect(upstream.seen.length).toBe(before);
  });
});
