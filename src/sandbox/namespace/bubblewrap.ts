// The launcher of choice: bubblewrap, as an ordinary user or as root. The network namespace is made and held by
// namespace-holder; bubblewrap takes the holder's place in it and adds a file system, process, user and IPC namespaces and
// the system call filter. It never starts a command when one of these cannot be had.
import { setTimeout as sleep } from 'node:timers/promises';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { type SealedMount, sealMounts } from '../files/seal-mounts.ts';
import { hasOwnRoot, verifyMounts } from '../files/verify-mounts.ts';
import { deviceGuards, readOnlyKernelPaths } from '../run/root-precautions.ts';
import { runningIn } from '../run/running-sandbox.ts';
import {
  LaunchError,
  type Launcher,
  type PreparedSandbox,
  type SandboxPlan,
  type SandboxStdio,
} from '../run/sandbox-plan.ts';
import { sandboxUser } from '../run/sandbox-user.ts';
import { bubblewrapArguments } from './bubblewrap-arguments.ts';
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
    'install bubblewrap, 0.4 or newer: apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap',
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
          return runningIn(holder, stdio, () => findCommand(holder));
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

/** bubblewrap, then the reaper that is the sandbox's first process, then the command. */
function findCommand(holder: NamespaceHolder): number | null {
  const outer = holder.initPid();
  const reaper = outer === null ? null : firstChildOf(outer);
  return reaper === null ? null : firstChildOf(reaper);
}
