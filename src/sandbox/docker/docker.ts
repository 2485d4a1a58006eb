// The launcher for container images, with Docker or with Podman, which takes the same words. Two containers: a holder, which owns a network with no interface but lo and a pid
// namespace, and the command, which joins both. Only the command line is used; no flag of it comes from outside.

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { isatty } from 'node:tty';
import { type SealedMount, sealMounts } from '../files/seal-mounts.ts';
import { LaunchError, type Launcher, type Mount, type PreparedSandbox, type SandboxPlan } from '../run/sandbox-plan.ts';
import { dockerCreateArguments, dockerMounts, imageName, lies } from './docker-arguments.ts';
import { createDockerCommand, type DockerCommand, type DockerOptions } from './docker-command.ts';
import { execInContainer } from './docker-exec.ts';
import { gated, openGate } from './docker-gate.ts';
import { type DockerHolder, startHolder } from './docker-holder.ts';
import { launcherLabel, removeLeftovers } from './docker-leftovers.ts';
import { attachSandbox } from './docker-sandbox.ts';
import { dockerSeccompProfile } from './docker-seccomp.ts';

export interface DockerLauncherOptions extends DockerOptions {
  readonly image: string;
  /** Who the command is, as the container counts. Default: the user who owns our files, which is 0 in both cases that work. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** Root of the host, or with rootless Docker the user who started it. Without capabilities either way. */
const caller = { uid: 0, gid: 0 };

export function createDockerLauncher(options: DockerLauncherOptions): Launcher {
  const docker = createDockerCommand(options);
  const image = imageName(options.image);
  const user = options.user ?? caller;
  return {
    name: docker.engine,
    notice: [],
    async prepare(stdio) {
      const name = `sallyport-${randomBytes(8).toString('hex')}`;
      const labels = [launcherLabel()];
      const cleaning = removeLeftovers(docker).catch(() => []);
      const uid = user.uid === 65534 ? 65533 : 65534;
      const holder = await startHolder(docker, { name, image, labels, uid });
      try {
        checkContainerProcess(holder.pid, name);
      } catch (error) {
        await holder.end();
        throw error;
      } finally {
        await cleaning;
      }
      let started = false;
      return {
        pid: holder.pid,
        discard: () => holder.end(),
        async start(plan) {
          if (started) throw new Error('a prepared sandbox starts one command');
          started = true;
          const terminal = stdio === 'terminal' && isatty(0) && isatty(1);
          try {
            refuseDaemonSocket(plan.mounts, options.environment);
            const folder = `/${holder.name}-gate`;
            const gate = { folder, image, imageEnvironment: holder.imageEnvironment };
            const held = await gated(plan, gate);
            const { name, seals } = await create(docker, held, { holder, image, labels, user, terminal });
            const attached = attachSandbox(docker, { name, holder, stdio, terminal });
            const running = { ...attached, exec: execInContainer(docker, { name, plan, gate }) };
            let over = false;
            const hasEnded = () => over;
            void running.ended.finally(() => {
              over = true;
            });
            await openGate(docker, { name, folder, beside: holder.pid, seals, hasEnded }).catch(async (error) => {
              running.kill();
              await running.ended;
              throw error;
            });
            return running;
          } catch (error) {
            await holder.end();
            throw error;
          }
        },
      } satisfies PreparedSandbox;
    },
  };
}

interface Creation {
  readonly holder: DockerHolder;
  readonly image: string;
  readonly labels: readonly string[];
  readonly user: { readonly uid: number; readonly gid: number };
  readonly terminal: boolean;
}

interface Created {
  readonly name: string;
  readonly seals: readonly SealedMount[];
}

async function create(docker: DockerCommand, plan: SandboxPlan, creation: Creation): Promise<Created> {
  const { holder, image, labels, terminal } = creation;
  if (holder.hasEnded())
    throw new LaunchError(
      'the sandbox ended before its command was started',
      'was the Docker daemon restarted? Try again',
    );
  const name = `${holder.name}-command`;
  const user = `${creation.user.uid}:${creation.user.gid}`;
  const mountPoints = readMountPoints(readFileSync('/proc/self/mountinfo', 'utf8'));
  const seals = sealMounts(dockerMounts(plan.mounts, mountPoints), 'fresh', plan.seals);
  const profile = openNameless(JSON.stringify(dockerSeccompProfile()));
  try {
    const seccompFile = '/dev/fd/3';
    await docker.run(
      dockerCreateArguments(plan, {
        name,
        holder: holder.name,
        image,
        engine: docker.engine,
        labels,
        user,
        terminal,
        seccompFile,
        mountPoints,
      }),
      profile,
    );
    return { name, seals };
  } finally {
    closeSync(profile);
  }
}

/** A file without a name, gone with us however we end. Docker opens it by its descriptor, which no pipe of Node's allows. */
function openNameless(text: string): number {
  let file: number;
  try {
    file = openSync(tmpdir(), temporaryFile | constants.O_DIRECTORY | constants.O_RDWR, 0o600);
  } catch {
    // A file system that cannot: it has a name for a moment.
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-docker-'));
    file = openSync(join(folder, 'file'), 'wx+', 0o600);
    rmSync(folder, { recursive: true, force: true });
  }
  writeSync(file, text);
  return file;
}

/** O_TMPFILE, the same on every machine without the O_DIRECTORY that belongs to it (open(2)). Node has no name for it. */
const temporaryFile = 0o20000000;

/** The fifth field, in which the kernel writes blanks and the like as octal numbers. */
export function readMountPoints(mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const escaped = line.split(' ')[4];
    if (escaped === undefined) return [];
    return [escaped.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))];
  });
}

/** Whoever has the daemon's socket is root on the host. The plan's own rules come first; this is the last look. */
function refuseDaemonSocket(mounts: readonly Mount[], environment: DockerOptions['environment']): void {
  const named = /^unix:\/\/(\/.+)$/.exec(environment.DOCKER_HOST ?? '')?.[1];
  const own = environment.XDG_RUNTIME_DIR;
  const podman = ['/run/podman/podman.sock', ...(own === undefined ? [] : [`${own}/podman/podman.sock`])];
  const known = [named, '/var/run/docker.sock', '/run/containerd/containerd.sock', ...podman];
  const sockets = known.flatMap((path) => real(path));
  mounts.forEach((mount, at) => {
    if (mount.kind !== 'read-only' && mount.kind !== 'read-write') return;
    const [source] = real(mount.source);
    for (const socket of source === undefined ? [] : sockets) {
      if (!lies(socket, source!)) continue;
      const seenAt = posix.join(mount.target, posix.relative(source!, socket));
      if (mounts.slice(at + 1).some((later) => lies(seenAt, later.target))) continue;
      throw new LaunchError(
        `mounting ${mount.source} would give the sandbox ${socket}, and through it control of this machine`,
        'mount a folder that does not hold the socket of the Docker daemon',
      );
    }
  });
}

function real(path: string | undefined): readonly string[] {
  try {
    return path === undefined ? [] : [realpathSync(path)];
  } catch {
    return [];
  }
}

/** The process must say `name` in its command line: a number from another machine's daemon means another process here. */
export function checkContainerProcess(pid: number, name: string): void {
  let commandLine = '';
  try {
    if (pid > 1) commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // Told below.
  }
  if (!commandLine.includes(`/${name}/`))
    throw new LaunchError(
      'the Docker daemon does not run on this machine: its containers are not among the processes here',
      'use a daemon on this machine. The gateway cannot reach the network of one in a virtual machine (Docker Desktop) or behind DOCKER_HOST=tcp or ssh. Or leave out --image to use bubblewrap',
    );
  let theirs: string;
  try {
    theirs = readlinkSync(`/proc/${pid}/ns/net`);
  } catch (cause) {
    throw notPermitted(cause);
  }
  if (theirs === readlinkSync('/proc/self/ns/net'))
    throw new LaunchError(
      "the container has the host's own network",
      'the daemon ignored --network none: check its configuration and its plugins',
    );
}

function notPermitted(cause: unknown): LaunchError {
  return new LaunchError(
    'this user may use the Docker daemon, but may not enter the network of its containers',
    'run with sudo, use rootless Docker, or leave --image out to use bubblewrap',
    { cause },
  );
}
