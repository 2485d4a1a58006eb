// docker-compose.yml as it is, brought up by the real docker-compose in a Docker world, with a pretend internet behind the
// gateway: a GitHub, a git server and a provider that want the real credentials. Nothing of it is on this machine's network.
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { importBase, makeClone } from './compose-images.ts';
import { openInternet, type PretendInternet } from './compose-internet.ts';
import { type DockerWorld, startDockerWorld } from './docker-world.ts';
import { eventually } from './eventually.ts';
import { type FakeGithub, startFakeGithub } from './fake-github.ts';
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import type { GitFolder } from './git-folder.ts';
import { type GitUpstream, startGitUpstream } from './git-upstream.ts';
import { type ClientOptions, type ClientRun, runClient } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';

export const githubToken = 'ghp_TheRealTokenThatNoSandboxSees01';
export const anthropicKey = 'sk-ant-api03-TheRealKeyThatNoSandboxSees';
const gatewayUser = 10001;
const project = 'port';
export const baseImage = 'compose-base';
export const sandboxNetwork = 'sallyport-sandbox';

/** Where the pretend internet is: addresses for documentation, in the world's own network namespace. */
export const places = { git: '203.0.113.10', github: '203.0.113.11', provider: '203.0.113.12' } as const;

export interface ComposeGround {
  readonly world: DockerWorld;
  /** What the operator has: a clone with docker-compose.yml, and their own files beside it. */
  readonly clone: string;
  readonly git: GitUpstream;
  readonly github: FakeGithub;
  readonly provider: FakeUpstream;
  /** acme/widgets on the git server. */
  readonly bare: GitFolder;
  compose(...args: string[]): Promise<ClientRun>;
  /** How a program is run as the operator would run it: in the clone, with what Compose and Docker read. */
  readonly client: ClientOptions;
  /** Throws unless it ends well. */
  up(...args: string[]): Promise<void>;
  /** A shell command in the running sandbox, as the user it has. */
  inSandbox(script: string): Promise<ClientRun>;
  /** `sallyport …` in the gateway's container. */
  inGateway(args: readonly string[], input?: string): Promise<ClientRun>;
  /** Until its health check passes. */
  gatewayReady(): Promise<void>;
  /** Until the entrypoint has become the command: then the sandbox can work. */
  sandboxReady(): Promise<void>;
  stop(): Promise<void>;
}

export interface ComposeOptions {
  /** More of what docker-compose.yml takes from the environment. */
  readonly environment?: Record<string, string>;
}

export async function openComposeGround(options: ComposeOptions = {}): Promise<ComposeGround> {
  const ca = makeTestCa();
  const git = await startGitUpstream(ca, { 'github.com': `x-access-token:${githubToken}` });
  const github = await startFakeGithub(ca, { 'api.github.com': githubToken });
  const provider = await startFakeUpstream(ca, ['api.anthropic.com']);
  const bare = await git.create('acme/widgets');
  await bare.commit({ branch: 'main', files: { 'README.md': 'read me\n' } });
  await git.create('acme/other');

  const clone = mkdtempSync(join(tmpdir(), 'sallyport-compose-'));
  chmodSync(clone, 0o755);
  makeClone(clone);
  mkdirSync(join(clone, 'policy'));
  cpSync(ca.path, join(clone, 'policy', 'far-side.pem'));
  writeConfig(clone);
  layDownSecrets(join(clone, 'secrets'));

  let internet: PretendInternet | null = null;
  const world = await startDockerWorld();
  const environment = {
    ...world.environment,
    SALLYPORT_GATEWAY_BASE: baseImage,
    SALLYPORT_SANDBOX_BASE: baseImage,
    SALLYPORT_DOCKER_SOCKET: world.socket,
    SALLYPORT_CONFIG_DIR: './policy',
    SALLYPORT_REPOS: 'acme/widgets',
    SALLYPORT_HEALTH_INTERVAL: '1s',
    SALLYPORT_WAIT_SECONDS: '30',
    COMPOSE: 'docker-compose',
    COMPOSE_FILE: 'docker-compose.yml:docker/compose.secrets.yml',
    COMPOSE_PROJECT_NAME: project,
    // The older builder: the newer one is a plugin that need not be here.
    DOCKER_BUILDKIT: '0',
    ...options.environment,
  };
  const client = { cwd: clone, env: environment, timeoutMs: 120_000 };
  const compose = (...args: string[]): Promise<ClientRun> => runClient('docker-compose', args, client);
  const inSandbox = (script: string): Promise<ClientRun> =>
    world.docker('exec', `${project}_sandbox_1`, 'sh', '-c', script);
  const stop = async (): Promise<void> => {
    await world.stop();
    internet?.close();
    for (const server of [git, github, provider]) await server.close();
    rmSync(clone, { recursive: true, force: true });
  };
  try {
    await importBase(world, baseImage);
    internet = await openInternet(world, {
      [places.git]: git.address,
      [places.github]: github.address,
      [places.provider]: provider.address,
    });
    const built = await compose('build');
    if (built.code !== 0) throw new Error(`the images cannot be built: ${built.stdout}${built.stderr}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    world,
    clone,
    git,
    github,
    provider,
    bare,
    compose,
    client,
    async up(...args) {
      const run = await compose('up', '--detach', ...args);
      if (run.code !== 0) throw new Error(`docker-compose up: ${run.stderr}${(await compose('logs')).stdout}`);
    },
    inSandbox,
    inGateway: (args, input = '') =>
      runClient('docker', ['exec', '-i', `${project}_gateway_1`, 'sallyport', ...args], { ...client, input }),
    async gatewayReady() {
      const health = ['inspect', '--format', '{{.State.Health.Status}}', `${project}_gateway_1`];
      await eventually(
        async () => (await world.docker(...health)).stdout === 'healthy\n',
        'the gateway is healthy',
        90_000,
      );
    },
    async sandboxReady() {
      const isReady = async (): Promise<boolean> => /^sleep\0infinity/m.test((await inSandbox(everyCommand)).stdout);
      await eventually(isReady, 'the sandbox runs its command', 40_000);
    },
    stop,
  };
}

const everyCommand = 'for one in /proc/[0-9]*/cmdline; do cat $one; echo; done';

const policy = {
  version: 1,
  allow: [{ preset: 'github' }, { preset: 'anthropic' }],
  credentials: { github: { source: { file: '/run/secrets/github' } }, anthropic: {} },
  docker: { socket: '/run/witness/docker.sock', register_labelled: true, network: sandboxNetwork },
  upstream: {
    ca: 'far-side.pem',
    resolve: { 'github.com': places.git, 'api.github.com': places.github, 'api.anthropic.com': places.provider },
  },
};

/** As an editor does it: the old file is replaced. */
export function writeConfig(clone: string, more: Record<string, unknown> = {}): void {
  const path = join(clone, 'policy', 'sallyport.yaml');
  writeFileSync(`${path}.new`, stringify({ ...policy, ...more }));
  renameSync(`${path}.new`, path);
}

function layDownSecrets(folder: string): void {
  mkdirSync(folder);
  const path = join(folder, 'github');
  writeFileSync(path, `${githubToken}\n`, { mode: 0o600 });
  chownSync(path, gatewayUser, gatewayUser);
}
