// A real Docker daemon for one test file: its own socket, data and home in a folder of its own, and images made here from
// the programs of this machine. It leaves the host's network as it was, ends with the test, and fetches nothing.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { eventually } from './eventually.ts';
import { type ClientRun, runClient } from './run-client.ts';

export interface TestDockerd {
  readonly folder: string;
  /** For the docker command line: PATH, a HOME of its own and DOCKER_HOST. */
  readonly environment: Readonly<Record<string, string>>;
  docker(...args: string[]): Promise<ClientRun>;
  /** `NAME STATE` of every container, running or not. */
  containers(): Promise<readonly string[]>;
  /** An image with these programs at their own places and what they need to run; `changes` as in a Dockerfile. */
  importImage(name: string, files: ImageFiles, changes?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface ImageFiles {
  /** Looked up in PATH. */
  readonly programs?: readonly string[];
  /** Path in the image -> file of the host. */
  readonly copies?: Readonly<Record<string, string>>;
  readonly texts?: Readonly<Record<string, string>>;
}

/** `rootless`: the daemon of an ordinary user with this uid, who has ids from 200000 on for their containers. */
export async function startDockerd({ rootless }: { rootless?: number } = {}): Promise<TestDockerd> {
  const before = hostNetwork();
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-dockerd-'));
  const home = join(folder, 'home');
  mkdirSync(home);
  writeFileSync(join(folder, 'daemon.json'), '{}');
  chmodSync(folder, 0o755);
  if (rootless !== undefined) for (const path of [folder, home]) chownSync(path, rootless, rootless);
  const socket = join(folder, 'docker.sock');
  const environment = { PATH: process.env.PATH ?? '', HOME: home, DOCKER_HOST: `unix://${socket}` };
  const args = [
    ...['--config-file', join(folder, 'daemon.json'), '--host', environment.DOCKER_HOST],
    ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'],
    ...(rootless === undefined ? [] : ['--rootless']),
  ];
  let log = '';
  const [program, ...words] = rootless === undefined ? privately : asUser(rootless);
  const daemon = spawn(program!, [...words, 'sh', '-c', inside, rootless === undefined ? 'root' : 'user', ...args], {
    env: { PATH: environment.PATH, HOME: home, XDG_RUNTIME_DIR: home },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  daemon.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk).slice(-4096);
  });
  if (rootless !== undefined) await mapUsers(daemon.pid!, rootless);
  daemon.stdin.end('go\n');
  const docker = (...words: string[]): Promise<ClientRun> => runClient('docker', words, { env: environment });
  await eventually(
    async () => {
      if (daemon.exitCode !== null) throw new Error(`dockerd ended: ${log}`);
      return existsSync(socket) && (await docker('version')).code === 0;
    },
    'dockerd answers',
    90_000,
  );
  return {
    folder,
    environment,
    ...dockerCommands(folder, docker),
    async stop() {
      await endDaemon(daemon);
      rmSync(folder, { recursive: true, force: true });
      const after = hostNetwork();
      if (after !== before) throw new Error(`dockerd changed the host's network from ${before} to ${after}`);
    },
  };
}

/** What is said to any daemon with the docker command line; `folder` is its own. */
export function dockerCommands(
  folder: string,
  docker: TestDockerd['docker'],
): Pick<TestDockerd, 'docker' | 'containers' | 'importImage'> {
  return {
    docker,
    async containers() {
      const { stdout } = await docker('ps', '--all', '--format', '{{.Names}} {{.State}}');
      return stdout.split('\n').filter((line) => line !== '');
    },
    async importImage(name, files, changes = []) {
      const root = mkdtempSync(join(folder, 'image-'));
      layOut(root, files);
      // Podman keeps it as it is, and nobody but root could enter.
      chmodSync(root, 0o755);
      const tar = join(folder, `${basename(root)}.tar`);
      execFileSync('tar', ['-C', root, '-cf', tar, '.']);
      const run = await docker('import', ...changes.flatMap((change) => ['--change', change]), tar, name);
      if (run.code !== 0) throw new Error(run.stderr);
      rmSync(root, { recursive: true });
      rmSync(tar);
    },
  };
}

/** In a mount namespace of its own: its mounts are gone with it, and it leaves no key in /etc. */
const privately = ['unshare', '--mount', '--propagation', 'slave'];

function asUser(uid: number): readonly string[] {
  const user = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  return [...user, 'unshare', '--user', '--mount', '--net'];
}

/** Ends with this process, should it not come to `stop`. */
const inside = `read -r go; mount -t tmpfs none /etc/docker; [ "$0" = root ] || mount -t tmpfs none /run
  exec setpriv --pdeathsig TERM dockerd "$@"`;

/** What newuidmap does for a user who is listed in /etc/subuid. */
async function mapUsers(pid: number, uid: number): Promise<void> {
  const own = readlinkSync('/proc/self/ns/user');
  await eventually(() => readlinkSync(`/proc/${pid}/ns/user`) !== own, 'the user namespace is there');
  for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${map}`, `0 ${uid} 1\n1 200000 65536\n`);
}

/** Compiles a program that needs nothing else in its image. */
export function compileStatic(folder: string, name: string, source: string): string {
  const program = join(folder, name);
  writeFileSync(`${program}.c`, source);
  execFileSync('gcc', ['-static', '-O1', '-o', program, `${program}.c`], { stdio: 'pipe' });
  return program;
}

function layOut(root: string, files: ImageFiles): void {
  const put = (from: string, to: string): void => {
    mkdirSync(join(root, dirname(to)), { recursive: true });
    copyFileSync(realpathSync(from), join(root, to));
  };
  for (const name of files.programs ?? []) {
    const path = execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' }).trim();
    put(path, `/usr/bin/${name}`);
    for (const [library] of execFileSync('ldd', [path], { encoding: 'utf8' }).matchAll(/\/\S+/g)) put(library, library);
  }
  for (const [to, from] of Object.entries(files.copies ?? {})) put(from, to);
  for (const [to, text] of Object.entries(files.texts ?? {})) {
    mkdirSync(join(root, dirname(to)), { recursive: true });
    writeFileSync(join(root, to), text);
  }
}

/** What a daemon with its usual options leaves behind. */
export function hostNetwork(): string {
  const forwarding = ['ipv4/ip_forward', 'ipv6/conf/all/forwarding'].map((name) => {
    const path = `/proc/sys/net/${name}`;
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : 'none';
  });
  const tables = ['/proc/net/ip_tables_names', '/proc/net/ip6_tables_names'].map((path) => {
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').sort().join(' ') : 'none';
  });
  return JSON.stringify([...forwarding, ...tables, existsSync('/sys/class/net/docker0')]);
}

export async function endDaemon(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null) return;
  const ended = new Promise((resolve) => daemon.on('close', resolve));
  daemon.kill('SIGTERM');
  await ended;
}
