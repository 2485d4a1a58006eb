import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxGitEnvironment, sandboxGitFiles } from '../../src/sandbox/stubs/sandbox-gitconfig.ts';
import { clientEnvironment } from '../support/client-environment.ts';
import { GitFolder } from '../support/git-folder.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const token = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const person = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};
let ground: string;
let directory: string;
let upstream: GitUpstream;
let gateway: TestGateway;
let tip: string;

beforeAll(async () => {
  ground = mkdtempSync(join(tmpdir(), 'tame-git-'));
  directory = join(ground, 'etc');
  const hosts = ['github.com', 'ghe.example.com'];
  for (const { name, mode, text } of sandboxGitFiles({ directory, hosts, lfs: true })) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text, { mode });
  }
  const ca = makeTestCa();
  upstream = await startGitUpstream(ca, { 'github.com': `x-access-token:${token}` });
  tip = await (await upstream.create('acme/tool')).commit({ branch: 'main', files: { README: 'a tool\n' } });
  gateway = await startTestGateway({
    allow: [{ preset: 'github' }],
    upstream: { resolve: { 'github.com': upstream.address }, ca: ca.path },
  });
  await gateway.register({ container_ip: '127.0.0.1', repos: ['acme/tool'] });
  await gateway.setSecret('github', token);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  rmSync(ground, { recursive: true, force: true });
});

/** A folder of the sandbox, with git as a launcher would set it up. */
function sandbox(more: Record<string, string> = {}): GitFolder {
  const folder = mkdtempSync(join(ground, 'sandbox-'));
  const env = { HOME: folder, ...person, ...clientEnvironment(gateway), ...sandboxGitEnvironment({ directory }) };
  return new GitFolder(folder, { ...env, ...more });
}

describe('a URL that git would not bring to the door is rewritten', () => {
  test.each([
    'git@github.com:acme/tool.git',
    'github.com:acme/tool',
    'ssh://git@github.com/acme/tool.git',
    'git://github.com/acme/tool',
    'http://github.com/acme/tool.git',
  ])('%s is fetched through the door', async (url) => {
    const box = sandbox();
    await box.git('clone', '--quiet', url, 'tool');
    expect(await box.below('tool').git('rev-parse', 'origin/main')).toBe(tip);
    expect(await box.below('tool').git('config', 'remote.origin.url')).toBe(url);
  });

  test('also of an Enterprise host, for fetch and push alike; other hosts keep their URL', async () => {
    const box = sandbox();
    await box.git('init', '--quiet', 'repository');
    const repository = box.below('repository');
    await repository.git('remote', 'add', 'origin', 'git@ghe.example.com:team/app.git');
    expect(await repository.git('remote', 'get-url', 'origin')).toBe('https://ghe.example.com/team/app.git');
    expect(await repository.git('remote', 'get-url', '--push', 'origin')).toBe('https://ghe.example.com/team/app.git');
    const other = 'git@git.example.org:team/app.git';
    expect(await box.git('ls-remote', '--get-url', other)).toBe(other);
  });

  test('the switch of docs/clients.md turns that off in a running sandbox, and nothing else', async () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/clients.md', import.meta.url)), 'utf8');
    const command = /^ {4}(export GIT_CONFIG_SYSTEM=\S+)$/m.exec(page)![1]!.replace('/etc/sallyport/git', directory);
    const asked =
      'git ls-remote --get-url git@github.com:acme/tool; git config core.hooksPath; git ls-remote git@github.com:acme/tool';
    const env = { ...sandboxGitEnvironment({ directory }), HOME: ground };
    const { stdout, stderr } = await runClient('sh', ['-c', `${command}; unset GIT_CONFIG_COUNT; ${asked}`], { env });
    expect(stdout).toBe(`git@github.com:acme/tool\n${directory}/hooks\n`);
    expect(stderr).toContain("transport 'ssh' not allowed");
    const before = await runClient('sh', ['-c', 'git ls-remote --get-url git@github.com:acme/tool'], { env });
    expect(before.stdout).toBe('https://github.com/acme/tool\n');
  });

  test('a launcher that is told so starts sandboxes without it', async () => {
    const box = sandbox(sandboxGitEnvironment({ directory, rewriteUrls: false }));
    expect(await box.git('ls-remote', '--get-url', 'git@github.com:acme/tool')).toBe('git@github.com:acme/tool');
  });
});

describe('a tame git still does its work', () => {
  test('commit, local clone and push, worktree, stash and rebase', async () => {
    const box = sandbox();
    await box.git('init', '--quiet', '--bare', 'local.git');
    await box.git('clone', '--quiet', 'local.git', 'work');
    const work = box.below('work');
    for (const name of ['one', 'two']) {
      writeFileSync(join(work.folder, name), `${name}\n`);
      await work.git('add', '.');
      await work.git('commit', '--quiet', '-m', name);
    }
    await work.git('push', '--quiet', 'origin', 'HEAD:refs/heads/main');
    expect(await box.below('local.git').git('log', '--format=%s', 'main')).toBe('two\none');
    await work.git('worktree', 'add', '--quiet', '../tree', 'HEAD~1');
    writeFileSync(join(work.folder, 'one'), 'changed\n');
    await work.git('stash', '--quiet');
    await work.git('rebase', '--quiet', '--root');
    await work.git('stash', 'pop', '--quiet');
    expect(readFileSync(join(work.folder, 'one'), 'utf8')).toBe('changed\n');
  });

  test('nobody is asked for a login: the error comes at once', async () => {
    const run = await sandbox().run(['credential', 'fill'], 'protocol=https\nhost=github.com\n\n');
    expect(run.stderr).toContain('terminal prompts disabled');
  });

  test('a submodule does not reach for a path of this machine', async () => {
    const box = sandbox();
    await box.git('clone', '--quiet', 'https://github.com/acme/tool', 'tool');
    await box.git('init', '--quiet', 'whole');
    const whole = box.below('whole');
    const added = await whole.run(['submodule', 'add', join(box.folder, 'tool'), 'part']);
    expect(added.stderr).toContain("transport 'file' not allowed");
    await whole.git('submodule', '--quiet', 'add', 'git@github.com:acme/tool', 'part');
    expect(readFileSync(join(whole.folder, 'part/README'), 'utf8')).toBe('a tool\n');
  });
});

describe('git-lfs works although hooks are off', () => {
  test('a file goes through the filters, is uploaded by a push and comes back in a clone', async () => {
    const version = await runClient('git-lfs', ['version']).catch(() => null);
    expect(version?.code, 'git-lfs is not installed: apt-get install git-lfs').toBe(0);
    const box = sandbox();
    await box.git('init', '--quiet', '--bare', 'local.git');
    await box.git('clone', '--quiet', `file://${box.folder}/local.git`, 'work');
    const work = box.below('work');
    await work.git('lfs', 'track', '*.bin');
    writeFileSync(join(work.folder, 'large.bin'), 'large\n'.repeat(1000));
    await work.git('add', '.');
    await work.git('commit', '--quiet', '-m', 'large');
    expect(await work.git('cat-file', '-p', 'HEAD:large.bin')).toContain('git-lfs.github.com/spec/v1');
    await work.git('push', '--quiet', 'origin', 'HEAD:refs/heads/main');
    await box.git('clone', '--quiet', '--branch', 'main', `file://${box.folder}/local.git`, 'again');
    expect(readFileSync(join(box.folder, 'again/large.bin'), 'utf8')).toBe('large\n'.repeat(1000));
  });

  test('a repository without LFS files never starts it', async () => {
    const box = sandbox();
    const bin = join(box.folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'git-lfs'), `#!/bin/sh\ntouch '${box.folder}/ran'\n`, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env.PATH}` };
    await box.git('init', '--quiet', '--bare', 'local.git');
    await box.git('clone', '--quiet', 'local.git', 'work');
    const work = box.below('work');
    await work.commit({ branch: 'main', files: { file: 'text' } });
    expect((await work.run(['push', '--quiet', 'origin', 'main'], '', env)).code).toBe(0);
    expect(() => readFileSync(join(box.folder, 'ran'))).toThrow('ENOENT');
    // With the folder that git-lfs makes on its first use, the hook does start it.
    mkdirSync(join(work.folder, '.git/lfs'));
    await work.run(['push', '--quiet', 'origin', 'main:refs/heads/again'], '', env);
    expect(readFileSync(join(box.folder, 'ran'), 'utf8')).toBe('');
  });
});
