// The launcher of choice: bubblewrap, as an ordinary user or as root. The network namespace is made and held by
// namespace-holder; bubblewrap takes the holder's place in it and adds a file system, process, user and IPC namespaces and
// the system call filter. It never starts a command when one of these cannot be had.

import { isAbsolute, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { type SealedMount, sealMounts } from '../files/seal-mounts.ts';
import { hasOwnRoot, verifyMounts } from '../files/verify-mounts.ts';
import { execInNamespace, waitForOrders } from '../hands/exec-in-namespace.ts';
import { howToInstallBubblewrap } from '../run/bubblewrap-package.ts';
import { deviceGuards, readOnlyKernelPaths } from '../run/root-precautions.ts';
import { runningIn } from '../run/running-sandbox.ts';
import {
  LaunchError,
  type Launcher,
  type Mount,
  type PreparedSandbox,
  type SandboxPlan,
  type SandboxStdio,
} from '../run/sandbox-plan.ts';
import { type SandboxUser, sandboxUser } from '../run/sandbox-user.ts';
import { findTool, needTool } from './find-tool.ts';
import {
  commandErrors,
  firstInput,
  holdNamespace,
  type NamespaceHolder,
  release,
  secondInput,
  startedMark,
} from './namespace-holder.ts';
import { firstChildOf } from './process-tree.ts';
import { seccompProgram } from './seccomp.ts';

export function createBubblewrapLauncher(find = findTool): Launcher {
  const bwrap = needTool(
    'bwrap',
    `install bubblewrap, 0.4 or newer (${howToInstallBubblewrap()}), or use --launcher namespaces, which needs no package`,
    find,
  );
  const filter = seccompProgram(process.arch);
  return {
    name: 'bubblewrap',
    notice: [],
    async prepare(stdio: SandboxStdio): Promise<PreparedSandbox> {
      const setUp = deviceGuards();
      const holder = await holdNamespace({ stdio, own: setUp.length > 0 ? ['--mount'] : [], setUp });
      return {
        pid: holder.pid,
        async start(plan) {
          const script = commandLine(bwrap, plan);
          const options = bubblewrapArguments(plan, {
            user: sandboxUser(),
            filterDescriptor: secondInput,
            releaseDescriptor: release,
            readOnlyKernelPaths: readOnlyKernelPaths(),
          });
          const seals = sealMounts(plan.mounts, 'fresh', plan.seals);
          await holder.run(script, { first: options, second: filter, verify: () => verified(holder, seals) });
          return runningIn(holder, stdio, {
            findCommand: () => findCommand(holder),
            exec: execInNamespace(holder, plan, () => rootOf(holder)),
          });
        },
        async discard() {
          holder.kill();
          await holder.ended;
        },
      };
    },
  };
}

/**
 * The shell takes bubblewrap's place, and inside the sandbox the command that of another: that one gives it the standard
 * error back, says that everything is set up, and when there is no such program says so as shells do (127). bubblewrap takes
 * the end of `release` for a release, so that one asks for a line of its own.
 */
function commandLine(bwrap: string, plan: SandboxPlan): string {
  const inside = [
    `read -r released <&${again} || exit 125`,
    ...waitForOrders(plan, again),
    `echo ${quoteForShell(startedMark)} >&2`,
    `exec "$@" 2>&${commandErrors} ${commandErrors}>&- ${again}<&-`,
  ].join('\n');
  const words = [bwrap, '--args', String(firstInput), '--', '/bin/sh', '-c', inside, 'sallyport', ...plan.command];
  return `exec ${again}<&${release} ${words.map(quoteForShell).join(' ')}`;
}

/** `release` once more: bubblewrap closes the one that it waits for. */
const again = 3;

/** It says nothing by itself when it has made the mounts, but then it has left the root of the host. */
async function verified(holder: NamespaceHolder, seals: readonly SealedMount[]): Promise<void> {
  for (let looks = 0; looks < maxLooks; looks++) {
    const outer = holder.initPid();
    // It has ended, and said why.
    if (outer === null) return;
    const inner = firstChildOf(outer);
    if (inner !== null && hasOwnRoot(inner, seals)) return verifyMounts(inner, seals);
    await sleep(1);
  }
  throw new LaunchError(
    'bubblewrap stopped before its mounts could be checked',
    'check that `bwrap` works and that /proc is readable',
  );
}

/** Of a millisecond or more each: time enough also on a machine that is busy with other things. */
const maxLooks = 20_000;

/** The reaper has the root of the sandbox, whatever the command does with its own. */
function rootOf(holder: NamespaceHolder): number | null {
  const outer = holder.initPid();
  return outer === null ? null : firstChildOf(outer);
}

/** bubblewrap, then the reaper that is the sandbox's first process, then the command. */
function findCommand(holder: NamespaceHolder): number | null {
  const reaper = rootOf(holder);
  return reaper === null ? null : firstChildOf(reaper);
}

// A plan as options for bubblewrap. Pure. Order matters: mounts are made one after the other, a later one over an earlier.
// Never --unshare-net (the namespace is made before, with the door in it), never the host's /sys, /proc or /dev.
interface BubblewrapSurroundings {
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
