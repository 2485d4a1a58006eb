// The ground for a proof or a demonstration: a pretend internet, a gateway with a policy of its own, and a real sandbox, all
// below one temporary folder. Never touches the user's gateway, secrets or state, and leaves nothing behind.
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { placesIn } from '../../kit/files/home.ts';
import type { Launcher } from '../../sandbox/run/sandbox-plan.ts';
import { type SandboxRegistrar, type StartedSandbox, startSandbox } from '../../sandbox/run/start-sandbox.ts';
import { type PretendHost, type PretendWorld, startPretendWorld } from './pretend-world.ts';

export interface PretendGroundPorts {
  readonly launcher: Launcher;
  /** The user's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** State in `home`, policy from `config`. */
  startGateway(home: string, config: string): Promise<{ readonly registrar: SandboxRegistrar; stop(): Promise<void> }>;
  /** Aborted: the sandbox is ended at once. */
  readonly signal: AbortSignal;
}

/** The policy beside what every ground has (`version`, `listen`, `upstream`). */
export interface GroundPolicy {
  readonly allow: readonly object[];
  readonly credentials: Readonly<Record<string, object>>;
  /** Names that lead to the pretend internet. */
  readonly pinned: readonly string[];
}

export interface GroundPlan {
  /** In the name of the folder. */
  readonly name: string;
  /** Written to files that no sandbox sees, by name. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Who plays the hosts; `folder` is theirs. */
  hosts(folder: string): Promise<(name: string) => PretendHost | undefined>;
  policy(secretFiles: Readonly<Record<string, string>>): GroundPolicy;
}

export interface PretendGround {
  readonly world: PretendWorld;
  readonly secretFiles: Readonly<Record<string, string>>;
  /** Its streams are piped. */
  start(command: readonly string[], repos: readonly string[]): Promise<StartedSandbox>;
  clear(): Promise<void>;
}

type Undo = () => Promise<unknown> | unknown;

export async function layPretendGround(ports: PretendGroundPorts, plan: GroundPlan): Promise<PretendGround> {
  const undo: Undo[] = [];
  const clear = async (): Promise<void> => {
    for (const step of undo.splice(0)) await Promise.resolve(step()).catch(() => {});
  };
  try {
    return { ...(await lay(ports, plan, (step) => undo.unshift(step))), clear };
  } catch (error) {
    await clear();
    throw error;
  }
}

async function lay(ports: PretendGroundPorts, plan: GroundPlan, later: (step: Undo) => void) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), `sallyport-${plan.name}-`)));
  later(() => rm(root, { recursive: true, force: true }));
  const secretFiles = writeSecrets(join(root, 'keys'), plan.secrets);
  const world = await startPretendWorld(await plan.hosts(join(root, 'hosts')));
  later(() => world.close());
  const config = join(root, 'sallyport.yaml');
  const caFile = join(root, 'pretend-internet.pem');
  writeFileSync(caFile, world.certificate);
  writeFileSync(config, stringify(asDocument(plan.policy(secretFiles), world.address, caFile)));
  const state = join(root, 'state');
  const gateway = await ports.startGateway(state, config);
  later(() => gateway.stop());
  const workingDirectory = join(root, 'project');
  mkdirSync(workingDirectory);
  const { launcher, environment, signal } = ports;

  const start = async (command: readonly string[], repos: readonly string[]): Promise<StartedSandbox> => {
    signal.throwIfAborted();
    const started = await startSandbox(
      {
        launcher,
        command,
        stdio: 'piped',
        registration: { repos },
        workingDirectory,
        environment,
        userHome: environment.HOME ?? '/',
        stateFolder: state,
        // In plain unshare the state directory is out of sight.
        runFolders: launcher.name === 'unshare' ? join(root, 'sandboxes') : placesIn(state).sandboxFolders,
        persistentHome: null,
        mounts: [],
        variables: [],
        hideEnvFiles: false,
      },
      Promise.resolve(gateway.registrar),
    );
    const end = (): void => started.kill();
    signal.addEventListener('abort', end);
    later(async () => {
      signal.removeEventListener('abort', end);
      started.kill();
      await started.ended;
    });
    return started;
  };
  return { world, secretFiles, start };
}

function writeSecrets(folder: string, secrets: Readonly<Record<string, string>>): Record<string, string> {
  mkdirSync(folder, { mode: 0o700 });
  const files: Record<string, string> = {};
  for (const [name, value] of Object.entries(secrets)) {
    files[name] = join(folder, name);
    writeFileSync(files[name], value, { mode: 0o600 });
  }
  return files;
}

function asDocument({ allow, credentials, pinned }: GroundPolicy, address: string, caFile: string): object {
  return {
    version: 1,
    listen: { proxy: '127.0.0.1:0' },
    allow,
    credentials,
    upstream: { resolve: Object.fromEntries(pinned.map((name) => [name, address])), ca: caFile },
  };
}
