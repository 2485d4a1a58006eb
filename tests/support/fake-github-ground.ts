// Where gh is tried: a whole gateway before a fake GitHub and a real git server, one sandbox in bot mode that has
// acme/widgets and nothing else, and the real gh in it, which holds a placeholder where its token would be.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { clientEnvironment } from './client-environment.ts';
import { eventually } from './eventually.ts';
import { type FakeGithub, logsHost, startFakeGithub } from './fake-github.ts';
import { type GitFolder, quietGit } from './git-folder.ts';
import { type GitUpstream, startGitUpstream } from './git-upstream.ts';
import { type ClientRun, runClient } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export const githubToken = 'ghp_TheRealTokenThatNoSandboxSees01';
export const enterpriseToken = 'ghp_AnotherTokenForTheEnterprise02';
export const enterpriseHost = 'ghe.example.com';

export interface GhGround {
  readonly gateway: TestGateway;
  readonly github: FakeGithub;
  readonly git: GitUpstream;
  /** acme/widgets on the git server. */
  readonly bare: GitFolder;
  /** A folder of the sandbox, no repository; holds a file `asset.txt`. */
  readonly folder: string;
  /** Runs the real gh. */
  gh(args: readonly string[], options?: GhOptions): Promise<ClientRun>;
  stop(): Promise<void>;
}

export interface GhOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: Record<string, string>;
}

export async function openGhGround(config: Record<string, unknown> = {}): Promise<GhGround> {
  const ca = makeTestCa();
  const github = await startFakeGithub(ca, {
    'api.github.com': githubToken,
    'uploads.github.com': githubToken,
    [enterpriseHost]: enterpriseToken,
  });
  const git = await startGitUpstream(ca, { 'github.com': `x-access-token:${githubToken}` });
  const bare = await git.create('acme/widgets');
  await bare.commit({ branch: 'main', files: { 'README.md': 'read me\n' } });
  await bare.commit({ branch: 'sandbox/grease', parents: ['main'], files: { grease: 'grease\n' } });
  await git.create('other/private');
  const api = ['api.github.com', 'uploads.github.com', enterpriseHost, logsHost].map((host) => [host, github.address]);
  const resolve = { ...Object.fromEntries(api), 'github.com': git.address };
  const gateway = await startTestGateway({
    allow: [{ preset: 'github' }],
    upstream: { resolve, ca: ca.path },
    ...config,
  });
  await gateway.register({ container_ip: '127.0.0.1', repos: ['acme/widgets'], auth_mode: 'bot' });
  await gateway.setSecret('github', githubToken);
  const folder = mkdtempSync(join(tmpdir(), 'gh-sandbox-'));
  writeFileSync(join(folder, 'asset.txt'), 'ssh-ed25519 AAAA someone\n');
  const sandboxEnvironment = {
    ...clientEnvironment(gateway),
    ...quietGit,
    HOME: folder,
    // gh keeps what it found out about a host there: an earlier test must not answer for this one.
    TMPDIR: folder,
    GH_CONFIG_DIR: join(folder, 'gh'),
    GH_TOKEN: 'placeholder',
    GH_PROMPT_DISABLED: '1',
    GH_NO_UPDATE_NOTIFIER: '1',
    NO_COLOR: '1',
  };
  return {
    gateway,
    github,
    git,
    bare,
    folder,
    gh: (args, { cwd = folder, input = '', env = {} } = {}) =>
      runClient('gh', args, { cwd, input, env: { ...sandboxEnvironment, ...env } }),
    async stop() {
      await gateway.stop();
      await github.close();
      await git.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A command that gh carries out; what it prints. */
export async function expectDone(ground: GhGround, args: readonly string[], options?: GhOptions): Promise<string> {
  ground.github.forget();
  const run = await ground.gh(args, options);
  expect(run, `gh ${args.join(' ')}`).toMatchObject({ code: 0 });
  // The placeholder stayed behind: what came had the token, or nothing where nothing was needed.
  expect(ground.github.seen.filter(({ login }) => login === false)).toEqual([]);
  expect(run.stdout + run.stderr).not.toContain(githubToken);
  return run.stdout + run.stderr;
}

export interface ExpectedRefusal {
  /** What a person must read. */
  readonly says: string;
  readonly code: string;
}

/** A command that gh reports as failed, in our words, of which nothing that changes anything got through. */
export async function expectRefused(
  ground: GhGround,
  args: readonly string[],
  { says, code }: ExpectedRefusal,
  options?: GhOptions,
): Promise<ClientRun> {
  const { gateway, github, git } = ground;
  const recorded = (await gateway.journal()).length;
  const before = structuredClone(github.state.repositories);
  github.forget();
  git.forget();
  const run = await ground.gh(args, options);
  expect(run.stdout + run.stderr).toContain(says);
  expect(run.code).not.toBe(0);
  expect(github.writes).toEqual([]);
  expect(git.pushes).toEqual([]);
  expect(github.state.repositories).toEqual(before);
  const refused = await eventually(
    async () => {
      const records = (await gateway.journal()).slice(recorded).filter(({ verdict }) => verdict === 'refused');
      return records.length > 0 ? records : null;
    },
    `a refusal of gh ${args.join(' ')} in the journal`,
  );
  expect(refused.map((record) => record.code)).toContain(code);
  return run;
}
