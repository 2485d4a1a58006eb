// A command in a sandbox, for a program that starts one itself: what `sallyport run` does, without what a command does to its
// process. The sandbox has no network but the door of a gateway, in this process, and ends with it.
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { findHome, placesIn } from '../../kit/files/home.ts';
import { closeToOwnPrograms, ownPath } from '../../kit/process/own-path.ts';
import type { Log } from '../../kit/text/log.ts';
import type { RequestedMount } from '../../sandbox/files/user-mounts.ts';
import { readLimits } from '../../sandbox/limits/sandbox-limits.ts';
import { requestSandbox, writableIn } from '../../sandbox/run/request-sandbox.ts';
import { LaunchError, type LauncherName } from '../../sandbox/run/sandbox-plan.ts';
import { type StartedSandbox, startSandbox } from '../../sandbox/run/start-sandbox.ts';
import type { AdminPorts } from '../admin/admin-ports.ts';
import { type OwnGateway, startOwnGateway } from '../own-gateway.ts';
import { registrarOfGateway } from '../sandboxes/sandbox-registrar.ts';
import type { PolicyDocument, RecordFilter, SallyportGateway } from './library-gateway.ts';
import { LibraryPolicy } from './library-policy.ts';
import type { RequestRecord } from './library-record.ts';
import { logOf, recordsOf, registrarOf } from './library-registrar.ts';

/** Something of the host that is let in beside the working directory. */
export interface SandboxMount {
  readonly source: string;
  /** Where it is seen inside. Left out: at the same path. */
  readonly target?: string;
  /** Default: yes. */
  readonly readOnly?: boolean;
}

/** What does not hold here is refused: see "How much it may use" in docs/run.md. */
export interface SandboxUse {
  /** Of all its processes: `512m`, `4g`. */
  readonly memory?: string;
  /** Processors at the same time. */
  readonly cpus?: number;
  /** Processes and threads at the same time. */
  readonly pids?: number;
  /** `90m`, `2h`. Then it is ended, with exit code 124. */
  readonly time?: string;
}

/** Another command for a sandbox that runs. */
export interface ExecOptions {
  readonly command: readonly string[];
  /** Beside the variables of the first. */
  readonly env?: Readonly<Record<string, string>>;
  /** Left out: that of the first. */
  readonly cwd?: string;
}

/** What `exec` has started. Output that nobody reads makes it wait. */
export interface SandboxCommand {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exitCode: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** What to run, and what it may do. */
export interface SandboxOptions {
  /** Program and arguments. The program is looked for in PATH, as a shell would. */
  readonly command: readonly string[];
  /** A gateway of `startGateway` to join. Left out: one of its own, which ends with the command. */
  readonly gateway?: SallyportGateway;
  /** Of a gateway of its own: the policy, as for `startGateway`, but looked for in `cwd`. */
  readonly config?: string | PolicyDocument;
  /** Of a gateway of its own: the state directory. Where another gateway has it, a folder below it is taken. */
  readonly home?: string;
  /** Of a gateway of its own. Left out: into `run.log` in its state directory. */
  readonly log?: Log | false;
  /** Of a gateway of its own: whether credentials may come from where the user's own tools keep them. Default: yes. */
  readonly userKeys?: boolean;
  /** Left out: a random one. */
  readonly id?: string;
  /** What a person calls it, in `sallyport ps` and `exec`: that of no other that runs. */
  readonly name?: string;
  /** How much of the machine it may use. Left out: all. */
  readonly limits?: SandboxUse;
  /** Repositories it may use: `owner/repo`, or `owner/*`. Default: none. */
  readonly repos?: readonly string[];
  /** `bot` (the default) pushes only to `branches`; `user` to every branch that is not protected. */
  readonly mode?: 'bot' | 'user';
  /** Default: `sandbox/*`. */
  readonly branches?: readonly string[];
  /** The credentials that it may use, by name. Default: all that are configured. */
  readonly credentials?: readonly string[];
  /** The folder it works in, and may write to. Default: the working directory of this process. */
  readonly cwd?: string;
  /** Variables for the command, beside the harmless ones of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly SandboxMount[];
  /** Ports of this machine's loopback that it finds on its own: a number, or `PORT:INSIDE`. Default: those of the policy. */
  readonly hostPorts?: readonly (number | string)[];
  /** Its ports that this machine's loopback has: a number, or `[[IP:]HOST_PORT:]PORT`. Default: none. */
  readonly ports?: readonly (number | string)[];
  /** Whether its home is kept for the next one that keeps it too. Default: no, a fresh one. */
  readonly keepHome?: boolean;
  /** Whether files named `.env` in `cwd` stay out of sight. Default: no. */
  readonly hideEnvFiles?: boolean;
  /** Whether it may change `.git/config` of the repositories that it can write. Default: `read-only`. */
  readonly gitConfig?: 'read-only' | 'writable';
  /** Default: bubblewrap; with `image`, Docker. */
  readonly launcher?: LauncherName;
  /** The image of the container, with Docker. */
  readonly image?: string;
  /** `pipe` (the default): its streams are yours. `inherit`: it has those of this process. */
  readonly stdio?: 'pipe' | 'inherit';
  /** Ends the sandbox when it is aborted; while it starts, `runSandboxed` then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A command that runs in a sandbox. */
export interface SandboxRun extends AsyncDisposable {
  readonly id: string;
  /** What was masked or left out, and what is not isolated, in words. */
  readonly notices: readonly string[];
  /** Null with `inherit`. Output that nobody reads makes the command wait. */
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Settles when every process of the sandbox is gone; 128 + n when a signal ended the command, as shells say it. */
  readonly exitCode: Promise<number>;
  /** Each limit and what holds it, in words. */
  readonly limits: readonly string[];
  /** Passes a signal on to the command. */
  kill(signal: NodeJS.Signals): void;
  /** Another command in it, with its rights and no more. Rejects with `LaunchError`. */
  exec(options: ExecOptions): Promise<SandboxCommand>;
  /** Ends every process of the sandbox at once; resolves when they are gone. */
  stop(): Promise<void>;
  /** What it asked for, from the journal; also after its end. */
  requests(filter?: Omit<RecordFilter, 'sandbox'>): AsyncIterable<RequestRecord>;
  /** What it was refused, the oldest first. */
  refusals(): Promise<readonly RequestRecord[]>;
  /** After its end: what it left in `cwd` that would run on the host (git hooks and the like), in words. */
  review(): Promise<readonly string[]>;
}

/** More than any run that somebody looks through; without a limit the newest hundred are all there is. */
const maxRefusals = 200_000;

/**
 * Runs a command in a sandbox that has no network but the gateway's door, no credential, and works unmodified.
 *
 * @throws LaunchError when it cannot be started, with a `hint` that says what to do.
 * @throws PolicyRejected when the policy of its own gateway is not valid.
 */
export async function runSandboxed(options: SandboxOptions): Promise<SandboxRun> {
  const { signal } = options;
  signal?.throwIfAborted();
  if (options.command.length === 0) throw new TypeError('the command is empty: name a program');
  const cwd = resolve(options.cwd ?? process.cwd());
  const mounts = (options.mounts ?? []).map((mount) => asRequested(mount, cwd));
  // As it is now, and before a program of ours is looked for: what it can write to is not trusted from here on.
  const environment = { ...process.env };
  closeToOwnPrograms([cwd, ...writableIn(mounts)]);
  const home = resolve(options.gateway?.home ?? options.home ?? findHome());
  const request = await requestSandbox({
    command: options.command,
    stdio: options.stdio === 'inherit' ? 'terminal' : 'piped',
    registration: asRegistration(options),
    workingDirectory: cwd,
    environment,
    ownPath: ownPath(),
    launcher: options.launcher,
    image: options.image,
    places: placesIn(home),
    keepHome: options.keepHome === true,
    mounts,
    variables: Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`),
    hideEnvFiles: options.hideEnvFiles === true,
    gitConfig: options.gitConfig,
    name: options.name,
    limits: readLimits(options.limits ?? {}),
  });
  const { gateway } = options;
  let own: OwnGateway | null = null;
  try {
    const started = await startSandbox(request, async () => {
      if (gateway !== undefined) return registrarOf(gateway);
      own = await startOwn(options, home, cwd);
      return registrarOfGateway(own.admin);
    });
    if (signal?.aborted === true) {
      started.kill();
      await started.ended;
      throw signal.reason;
    }
    return follow(started, own, gateway ?? null, signal);
  } catch (error) {
    await stopped(own);
    throw error;
  }
}

async function startOwn(options: SandboxOptions, home: string, cwd: string): Promise<OwnGateway> {
  const source = await LibraryPolicy.find(options.config, { home, cwd });
  return startOwnGateway({
    ...source.asStartOptions(),
    home,
    guest: true,
    userKeys: options.userKeys !== false,
    ...(options.log !== undefined && { log: logOf(options.log) }),
  });
}

function follow(
  started: StartedSandbox,
  own: OwnGateway | null,
  joined: SallyportGateway | null,
  signal: AbortSignal | undefined,
): SandboxRun {
  const { id } = started.grant;
  const kill = (): void => started.kill();
  signal?.addEventListener('abort', kill, { once: true });
  const ending = async (): Promise<number> => {
    try {
      return await started.ended;
    } finally {
      signal?.removeEventListener('abort', kill);
      await stopped(own);
    }
  };
  const exitCode = ending();
  // Who does not wait for it must not be ended by it.
  exitCode.catch(() => {});
  const stop = async (): Promise<void> => {
    kill();
    await exitCode.catch(() => {});
  };
  const requests: SandboxRun['requests'] = (filter = {}) =>
    own === null ? joined!.requests({ ...filter, sandbox: id }) : recordsIn(own.admin, id, filter);
  return {
    id,
    notices: started.notices,
    stdin: started.streams?.stdin ?? null,
    stdout: started.streams?.stdout ?? null,
    stderr: started.streams?.stderr ?? null,
    exitCode,
    limits: started.limits,
    kill: (which) => started.signal(which),
    async exec({ command, env = {}, cwd = null }) {
      const order = { command, environment: env, workingDirectory: cwd, terminal: null };
      const { stdin, stdout, stderr, ended, signal } = await started.exec(order);
      return { stdin, stdout, stderr: stderr!, exitCode: ended, kill: signal };
    },
    stop,
    requests,
    async refusals() {
      const found: RequestRecord[] = [];
      for await (const record of requests({ refusedOnly: true, limit: maxRefusals })) found.push(record);
      return found;
    },
    review: () => started.review(),
    [Symbol.asyncDispose]: stop,
  };
}

function recordsIn(
  admin: AdminPorts,
  sandbox: string,
  filter: Omit<RecordFilter, 'sandbox'>,
): AsyncIterable<RequestRecord> {
  return recordsOf(admin, { ...filter, sandbox });
}

async function stopped(own: OwnGateway | null): Promise<void> {
  await own?.stop();
}

function asRegistration({
  id,
  repos,
  mode,
  branches,
  credentials,
  hostPorts,
  ports,
}: SandboxOptions): Record<string, unknown> {
  return {
    repos: repos ?? [],
    ...(id !== undefined && { id }),
    ...(mode !== undefined && { auth_mode: mode }),
    ...(branches !== undefined && { allowed_branches: branches }),
    ...(credentials !== undefined && { credentials }),
    ...(hostPorts !== undefined && { host_ports: hostPorts }),
    ...(ports !== undefined && { ports: ports.map(String) }),
  };
}

function asRequested({ source, target, readOnly = true }: SandboxMount, cwd: string): RequestedMount {
  const path = resolve(cwd, source);
  if (target !== undefined && !target.startsWith('/'))
    throw new LaunchError(`the target ${JSON.stringify(target)} of a mount is not absolute`, 'Write the whole path.');
  return { mode: readOnly ? 'read-only' : 'read-write', source: path, target: target ?? path };
}
