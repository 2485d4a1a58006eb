// The network namespace of a container, from outside: checks that its process is on this machine and that we may enter, and
// sets the routes that make every address local to it. Never changes the network of the host.
import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { bindEveryAddress } from '../namespace/bind-addresses.ts';
import { LaunchError } from '../run/sandbox-plan.ts';

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

/** Every address local, so that whatever the sandbox connects to is the gateway. */
export async function routeToLoopback(
  pid: number,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  // Without root: rootless Docker, whose user namespace is ours to enter.
  const user = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials'];
  const env = { PATH: `${environment.PATH ?? '/usr/bin:/bin'}:/usr/sbin:/sbin` };
  await new Promise<void>((resolve, reject) => {
    const args = ['--target', String(pid), ...user, '--net', '--', 'sh', '-c', routes];
    execFile('nsenter', args, { env, timeout: 10_000 }, (error, _, stderr) => {
      if (error === null) resolve();
      else if (error.code === 'ENOENT')
        reject(new LaunchError('nsenter was not found', 'install util-linux and iproute2', { cause: error }));
      else if (/^nsenter: /m.test(stderr)) reject(notPermitted(error));
      else
        reject(
          new LaunchError(`the routes of the container could not be set: ${stderr.trim()}`, 'install iproute2', {
            cause: error,
          }),
        );
    });
  });
}

/** A machine without IPv6 has no way out by it either. */
const routes = bindEveryAddress('ip');

function notPermitted(cause: unknown): LaunchError {
  return new LaunchError(
    'this user may use the Docker daemon, but may not enter the network of its containers',
    'run with sudo, use rootless Docker, or leave --image out to use bubblewrap',
    { cause },
  );
}
