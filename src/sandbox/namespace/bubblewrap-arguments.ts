// A plan as options for bubblewrap. Pure. Order matters: mounts are made one after the other, a later one over an earlier.
// Never --unshare-net (the namespace is made before, with the door in it), never the host's /sys, /proc or /dev.
import { isAbsolute, normalize } from 'node:path';
import { LaunchError, type Mount, type SandboxPlan } from '../run/sandbox-plan.ts';
import type { SandboxUser } from '../run/sandbox-user.ts';

export interface BubblewrapSurroundings {
  readonly user: SandboxUser;
  /** Where the system call filter can be read. */
  readonly filterDescriptor: number;
  /** Where it waits, with all mounts made and nothing started, until there is a byte to read. */
  readonly releaseDescriptor: number;
  /** What root's sandbox may look at but not change, such as /proc/sys: no capability is needed to, being root is enough. */
  readonly readOnlyKernelPaths: readonly string[];
}

/** bubblewrap reads no more (MAX_ARGS in its source). */
const maxArguments = 9_000;

/** NUL-terminated, for --args. The command is not among them: bubblewrap takes it from its own command line alone. */
export function bubblewrapArguments(plan: SandboxPlan, surroundings: BubblewrapSurroundings): Buffer {
  const { user, filterDescriptor, releaseDescriptor, readOnlyKernelPaths } = surroundings;
  const args = [
    ...['--unshare-user', '--uid', String(user.uid), '--gid', String(user.gid)],
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--hostname', 'sallyport', '--die-with-parent', '--cap-drop', 'ALL'],
    // Without --new-session: the command keeps the terminal, so Ctrl-C, job control and full-screen programs work. What
    // that option guards against, typing into the caller's shell, the filter forbids.
    ...['--seccomp', String(filterDescriptor), '--block-fd', String(releaseDescriptor)],
    // The holder has no environment; these are what a shell adds to it. --clearenv would do, but comes with 0.5 only.
    ...['PWD', 'OLDPWD', 'SHLVL', '_'].flatMap((name) => ['--unsetenv', name]),
    ...Object.entries(plan.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...plan.mounts.flatMap(mountArguments),
    // After the mounts: nothing of the plan can lie over them.
    ...['--proc', '/proc', '--dev', '/dev'],
    ...readOnlyKernelPaths.flatMap((path) => ['--ro-bind', path, path]),
    ...['--chdir', plan.workingDirectory],
  ];
  if (args.length > maxArguments)
    throw new LaunchError(
      `the sandbox needs ${args.length} options of bubblewrap, which takes ${maxArguments}: too many files to mask or mount`,
      'run it in a smaller folder, or with fewer --mount and --ro',
    );
  const broken = args.find((arg) => arg.includes('\0'));
  if (broken !== undefined)
    throw new LaunchError(`${JSON.stringify(broken)} holds a NUL byte`, 'no path, argument or variable can hold one');
  return Buffer.from(args.map((arg) => `${arg}\0`).join(''));
}

function mountArguments(mount: Mount): readonly string[] {
  const { target } = mount;
  if (!isAbsolute(target)) throw new Error(`${JSON.stringify(target)} is not an absolute path`);
  if (/^\/(proc|dev|sys)(\/|$)/.test(normalize(target)))
    throw new LaunchError(`nothing can be mounted at ${target}`, 'choose a target outside of /proc, /dev and /sys');
  switch (mount.kind) {
    case 'read-only':
      return ['--ro-bind', mount.source, target];
    case 'read-write':
      return ['--bind', mount.source, target];
    case 'empty':
      return ['--tmpfs', target];
    case 'link':
      return ['--symlink', mount.to, target];
    case 'masked-file':
      // Reads as empty, and what is written to it is nowhere. As a device, since without it nothing could open it.
      return ['--dev-bind', '/dev/null', target];
    case 'masked-folder':
      return ['--tmpfs', target, '--remount-ro', target];
  }
}
