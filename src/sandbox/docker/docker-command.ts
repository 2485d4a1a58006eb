// The docker command line: one place that runs it, and that turns what it says when it fails into words for the user.
// There is no second way to the daemon, and nothing is ever asked of another machine's daemon on purpose.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { LaunchError } from '../run/sandbox-plan.ts';

/** What speaks docker's language: Podman needs no daemon, and says some things otherwise. */
export type Engine = 'docker' | 'podman';

export interface DockerOptions {
  /** Left out: docker. */
  readonly engine?: Engine;
  /** The docker program; looked up in the PATH of `environment` when it has no slash. */
  readonly docker?: string;
  /** What the command line itself gets: PATH, HOME, DOCKER_HOST, DOCKER_CONTEXT and the like. Not the sandbox's. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface DockerCommand {
  readonly engine: Engine;
  /** To its end; its standard output. Throws a LaunchError when it fails. It sees `file`, a descriptor, as /dev/fd/3. */
  run(args: readonly string[], file?: number): Promise<string>;
  spawn(args: readonly string[], stdio: StdioOptions, detached: boolean): ChildProcess;
}

/** docker's configuration may name a proxy, login included, that it puts into every container; and it would take our own. */
export const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** Far more than a healthy daemon needs for anything that is asked of it here. */
const timeoutMs = 60_000;

export function createDockerCommand(options: DockerOptions): DockerCommand {
  const engine = options.engine ?? 'docker';
  const program = options.docker ?? engine;
  const env = Object.fromEntries(
    Object.entries(options.environment).filter(([name]) => !proxyVariables.includes(name)),
  );
  return {
    engine,
    run: (args, file) =>
      new Promise((resolve, reject) => {
        const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', ...(file === undefined ? [] : [file])];
        const child = spawn(program, args, { env, stdio, timeout: timeoutMs });
        const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
        child.on('error', (error) => reject(explainDocker('', error, engine)));
        child.on('close', (code) => {
          if (code === 0) resolve(stdout());
          else
            reject(
              explainDocker(
                stderr(),
                Object.assign(new Error(`${engine} ${args[0]}`), { killed: child.killed }),
                engine,
              ),
            );
        });
      }),
    spawn: (args, stdio, detached) => spawn(program, args, { env, stdio, detached }),
  };
}

function gather(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

/** What a failed docker command means to the person in front of it. */
export function explainDocker(stderr: string, cause?: Error, engine: Engine = 'docker'): LaunchError {
  const options = cause === undefined ? {} : { cause };
  if ((cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    return new LaunchError(
      `the ${engine} command was not found`,
      `install ${engine === 'docker' ? 'Docker' : 'Podman'}, or leave --image out to use bubblewrap`,
      options,
    );
  if ((cause as { killed?: boolean } | undefined)?.killed === true)
    return new LaunchError(
      `docker did not answer within ${timeoutMs / 1000} seconds`,
      'check whether `docker info` works; if not, restart the daemon',
      options,
    );
  const said = daemonSaid(stderr);
  for (const [sign, hint] of hints) if (sign.test(stderr)) return new LaunchError(`${engine}: ${said}`, hint, options);
  return new LaunchError(
    `${engine}: ${said}`,
    engine === 'docker'
      ? 'check whether `docker info` works, and look at the log of the daemon'
      : 'check whether `podman info` works',
    options,
  );
}

/** The message itself, without warnings and the advice to read the manual. */
export function daemonSaid(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const told = lines.filter(
    (line) => line !== '' && !/^(?:WARNING|See|Run) /.test(line) && !line.startsWith('WARNING:'),
  );
  const error = told.findLast((line) => line.includes('Error response from daemon: ')) ?? told.at(-1);
  return (error ?? 'it failed and said nothing').replace(/^(?:docker: )?(?:Error response from daemon: )?/, '');
}

const hints: readonly (readonly [sign: RegExp, hint: string])[] = [
  [
    /permission denied while trying to connect|dial unix \S+ connect: permission denied/i,
    'run with sudo, use rootless Docker, or leave --image out to use bubblewrap',
  ],
  [
    /cannot connect to the docker daemon|connection refused|is the docker daemon running/i,
    'start the Docker daemon, or set DOCKER_HOST or DOCKER_CONTEXT to the one that runs',
  ],
  [/no such image|unable to find image/i, 'get the image first: docker pull, docker build or docker import'],
  [/invalid reference format/i, '--image takes a name such as node:22 or an image id'],
  [/bind source path does not exist/i, 'the folder or file to mount is gone: check --mount and --ro'],
  [/container-init binary not found/i, 'install catatonit, which Podman starts first in a container'],
  [
    /subuid|subgid|newuidmap|newgidmap/i,
    'give your user a range of ids: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER, and install uidmap',
  ],
  [/docker-init/i, 'the daemon has no docker-init: install tini (Debian) or the whole Docker package'],
  [/seccomp is not enabled/i, 'the kernel or the daemon was built without seccomp, which the sandbox needs'],
];
