// Where pushes are tried: a whole gateway, a sandbox registered for `acme/*` on github.com, a real git server behind it,
// and the sandbox's workplace. Every test takes a repository of its own.
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { GitFolder } from './git-folder.ts';
import { type GitSandbox, openGitSandbox } from './git-sandbox.ts';
import { type GitUpstream, type RepositoryOptions, startGitUpstream } from './git-upstream.ts';
import type { ClientRun } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export const githubToken = 'ghp_real0123456789abcdefghijklmnopqrstuv';
/** Not GitHub: for configurations with `git.hosts`. */
export const otherHost = 'git.example.com';
export const otherLogin = 'robot:another-token-93b1';

export interface PushGround {
  readonly gateway: TestGateway;
  readonly upstream: GitUpstream;
  readonly sandbox: GitSandbox;
  /** A repository with a `main` that has a README, a workflow and some source. */
  repository(options?: RepositoryOptions): Promise<TestRepository>;
  /** The last record of the journal for a path with this ending. */
  lastRecord(ending: string): Promise<Record<string, unknown>>;
  /** Files that wait in the spool, with or without a name. */
  spooled(): string[];
  /** How much is in what this process holds open there. */
  spooledBytes(): number;
  stop(): Promise<void>;
}

export interface TestRepository {
  /** `owner/name`. */
  readonly name: string;
  readonly url: string;
  readonly bare: GitFolder;
  /** The tip of `main`. */
  readonly main: string;
}

export interface PushGroundOptions {
  readonly registration?: Record<string, unknown>;
  /** More of the configuration document. */
  readonly config?: Record<string, unknown>;
}

export async function openPushGround(options: PushGroundOptions = {}): Promise<PushGround> {
  const ca = makeTestCa();
  const upstream = await startGitUpstream(ca, {
    'github.com': `x-access-token:${githubToken}`,
    [otherHost]: otherLogin,
  });
  const gateway = await startTestGateway({
    allow: [{ preset: 'github' }],
    upstream: { resolve: { 'github.com': upstream.address, [otherHost]: upstream.address }, ca: ca.path },
    ...options.config,
  });
  await gateway.register({ container_ip: '127.0.0.1', repos: ['acme/*'], auth_mode: 'user', ...options.registration });
  await gateway.setSecret('github', githubToken);
  const sandbox = openGitSandbox(gateway);
  const spool = join(gateway.home, 'state', 'spool');
  let made = 0;
  return {
    gateway,
    upstream,
    sandbox,
    async repository(repositoryOptions) {
      const name = `acme/r${++made}`;
      const bare = await upstream.create(name, repositoryOptions);
      const main = repositoryOptions?.objectFormat === 'sha256' ? '' : await bare.commit(firstCommit);
      return { name, url: `https://github.com/${name}.git`, bare, main };
    },
    lastRecord: (ending) =>
      eventually(
        async () => (await gateway.journal()).filter(({ path }) => String(path).endsWith(ending)).at(-1),
        `a record of ${ending} in the journal`,
      ),
    spooled: () => filesIn(spool),
    spooledBytes: () => openFilesIn(spool).reduce((all, { number }) => all + sizeOf(number), 0),
    async stop() {
      await gateway.stop();
      await upstream.close();
      sandbox.remove();
    },
  };
}

/** What has a name there, and what this process holds open that has none any more. */
function filesIn(directory: string): string[] {
  return [...readdirSync(directory), ...openFilesIn(directory).map(({ path }) => path)];
}

function openFilesIn(directory: string): { readonly number: string; readonly path: string }[] {
  const open = readdirSync('/proc/self/fd').map((number) => {
    try {
      return { number, path: readlinkSync(`/proc/self/fd/${number}`) };
    } catch {
      return { number, path: '' };
    }
  });
  return open.filter(({ path }) => path.startsWith(`${directory}/`));
}

function sizeOf(number: string): number {
  try {
    return statSync(`/proc/self/fd/${number}`).size;
  } catch {
    return 0;
  }
}

const firstCommit = {
  branch: 'main',
  files: {
    'README.md': 'read me\n',
    '.github/workflows/ci.yml': 'on: push\n',
    '.github/CODEOWNERS': '* @acme/owners\n',
    'src/deep/down/file.txt': 'one\n',
    'src/other.txt': 'two\n',
  },
};

/** A push that git says was refused, of which nothing arrived, recorded under this code. */
export async function expectRefused(
  ground: PushGround,
  repository: TestRepository,
  code: string,
  push: () => Promise<ClientRun>,
): Promise<ClientRun> {
  const before = await repository.bare.refs();
  ground.upstream.forget();
  const run = await push();
  expect(run.stderr).toContain('error: failed to push some refs');
  expect(run.code).toBe(1);
  expect(ground.upstream.pushes).toEqual([]);
  expect(await repository.bare.refs()).toEqual(before);
  const record = await ground.lastRecord('/git-receive-pack');
  expect({ verdict: record.verdict, code: record.code }).toEqual({ verdict: 'refused', code });
  await eventually(() => ground.spooled().length === 0, 'the spool is empty again');
  return run;
}

/** A push that git says is done. */
export async function expectPushed(ground: PushGround, push: () => Promise<ClientRun>): Promise<ClientRun> {
  ground.upstream.forget();
  const run = await push();
  expect(run.stderr).not.toContain('rejected');
  expect(run.code).toBe(0);
  expect(ground.upstream.pushes).toHaveLength(1);
  await eventually(() => ground.spooled().length === 0, 'the spool is empty again');
  return run;
}
