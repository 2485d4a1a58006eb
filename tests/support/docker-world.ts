// A real Docker daemon with bridges, iptables and networks, in a network namespace of its own: no interface, route or rule
// of it is on this machine, and all of it is gone with the namespace. A gateway can be started in there beside it.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerCommands, endDaemon, hostNetwork, type TestDockerd } from './dockerd.ts';
import { eventually } from './eventually.ts';
import { type ClientOptions, type ClientRun, runClient, type StartedClient, startClient } from './run-client.ts';

export interface DockerWorld extends TestDockerd {
  /** The path of the daemon's socket, which is not in a namespace. */
  readonly socket: string;
  /** The process that holds the network namespace; it stays when the daemon is stopped. */
  readonly pid: number;
  /** What to put in front of a command line so that it runs in that network namespace. */
  readonly enter: readonly string[];
  /** A program in that network namespace. */
  run(command: string, args: readonly string[], options?: ClientOptions): Promise<ClientRun>;
  /** The same, without waiting for its end: after ten minutes, or at `stop`, it is ended. */
  start(command: string, args: readonly string[], options?: ClientOptions): StartedClient;
  /** The daemon ends, and its containers with it unless they are to outlive it. */
  stopDaemon(): Promise<void>;
  /** It comes back on the same socket and finds its containers again. */
  startDaemon(): Promise<void>;
}

/** `outlived`: its containers go on when the daemon alone is stopped. */
export async function startDockerWorld({ outlived = false } = {}): Promise<DockerWorld> {
  const before = hostNetwork();
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-world-'));
  chmodSync(folder, 0o755);
  const home = join(folder, 'home');
  mkdirSync(home);
  writeFileSync(join(folder, 'daemon.json'), JSON.stringify({ 'live-restore': outlived }));
  const socket = join(folder, 'docker.sock');
  const environment = { PATH: process.env.PATH ?? '', HOME: home, DOCKER_HOST: `unix://${socket}` };
  const holder = await holdNamespaces();
  const { pid } = holder;
  const enter = ['nsenter', '--net', `--target=${pid}`, '--'];
  const inside = (command: string, args: readonly string[]): [string, string[]] => [
    enter[0]!,
    [...enter.slice(1), command, ...args],
  ];
  const docker = (...words: string[]): Promise<ClientRun> => runClient('docker', words, { env: environment });
  let daemon: ChildProcess | null = null;

  const startDaemon = async (): Promise<void> => {
    let log = '';
    const args = [
      ...['--config-file', join(folder, 'daemon.json'), '--host', environment.DOCKER_HOST],
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    ];
    const both = ['--net', '--mount', `--target=${pid}`, '--'];
    const starting = spawn('nsenter', [...both, 'setpriv', '--pdeathsig', 'TERM', 'dockerd', ...args], {
      env: { PATH: environment.PATH, HOME: home },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    daemon = starting;
    starting.stderr.on('data', (chunk: Buffer) => {
      log = (log + chunk).slice(-4096);
    });
    await eventually(
      async () => {
        if (starting.exitCode !== null) throw new Error(`dockerd ended: ${log}`);
        return existsSync(socket) && (await docker('version')).code === 0;
      },
      'dockerd answers',
      90_000,
    );
  };
  const stopDaemon = async (): Promise<void> => {
    if (daemon !== null) await endDaemon(daemon);
    daemon = null;
  };

  const stop = async (): Promise<void> => {
    if (daemon === null) await startDaemon();
    const left = (await docker('ps', '--all', '--quiet')).stdout.split('\n').filter((id) => id !== '');
    if (left.length > 0) await docker('rm', '--force', ...left);
    await stopDaemon();
    await endAll(pid);
    rmSync(folder, { recursive: true, force: true });
    const after = hostNetwork();
    if (after !== before) throw new Error(`dockerd changed the host's network from ${before} to ${after}`);
  };

  try {
    await startDaemon();
  } catch (error) {
    await endAll(pid);
    throw error;
  }
  return {
    folder,
    environment,
    socket,
    pid,
    enter,
    ...dockerCommands(folder, docker),
    run: (command, args, options) => runClient(...inside(command, args), options),
    start: (command, args, options) => startClient(...inside(command, args), { timeoutMs: 600_000, ...options }),
    stopDaemon,
    startDaemon,
    stop,
  };
}

/** A process in a network and a mount namespace that nobody else has; it ends with this process. */
async function holdNamespaces(): Promise<{ readonly pid: number }> {
  const script = `mount -t tmpfs none /run; mount -t tmpfs none /etc/docker; ip link set lo up
    echo ready; exec setpriv --pdeathsig KILL sleep infinity`;
  const holder = spawn('unshare', ['--net', '--mount', '--propagation', 'slave', 'sh', '-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    holder.stdout.once('data', () => resolve());
    holder.once('exit', (code) => reject(new Error(`the namespaces could not be made (exit code ${code})`)));
  });
  return { pid: holder.pid! };
}

/** Whatever still runs in the namespace, the holder last: with it the namespace goes. */
async function endAll(holder: number): Promise<void> {
  const namespace = namespaceOf(holder);
  if (namespace === null) return;
  const members = (): number[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => namespaceOf(pid) === namespace);
  await eventually(
    () => {
      const left = members();
      const others = left.filter((pid) => pid !== holder);
      for (const pid of others.length > 0 ? others : left) end(pid);
      return left.length === 0;
    },
    'nothing is left in the namespace',
    40_000,
  );
}

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
