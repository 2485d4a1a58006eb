// The launcher of choice: bubblewrap, as an ordinary user or as root. The network namespace is made and held by
// namespace-holder; bubblewrap takes the holder's place in it and adds a file system, process, user and IPC namespaces and
// the system call filter. It never starts a command when one of these cannot be had.
import { quoteForShell } from '../kit/shell-quote.ts';
import { bubblewrapArguments } from './bubblewrap-arguments.ts';
import { findTool, needTool } from './find-tool.ts';
import {
  commandErrors,
  firstInput,
  holdNamespace,
  type NamespaceHolder,
  secondInput,
  startedMark,
} from './namespace-holder.ts';
import { firstChildOf } from './process-tree.ts';
import { deviceGuards, readOnlyKernelPaths } from './root-precautions.ts';
import { runningIn } from './running-sandbox.ts';
import type { Launcher, PreparedSandbox, SandboxPlan, SandboxStdio } from './sandbox-plan.ts';
import { sandboxUser } from './sandbox-user.ts';
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
            readOnlyKernelPaths: readOnlyKernelPaths(),
          });
          await holder.run(script, { first: options, second: filter });
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
 * error back, says that everything is set up, and when there is no such program says so as shells do (127).
 */
function commandLine(bwrap: string, plan: SandboxPlan): string {
  const inside = `echo ${quoteForShell(startedMark)} >&2; exec "$@" 2>&${commandErrors} ${commandErrors}>&-`;
  const words = [bwrap, '--args', String(firstInput), '--', '/bin/sh', '-c', inside, 'sallyport', ...plan.command];
  return `exec ${words.map(quoteForShell).join(' ')}`;
}

/** bubblewrap, then the reaper that is the sandbox's first process, then the command. */
function findCommand(holder: NamespaceHolder): number | null {
  const outer = holder.initPid();
  const reaper = outer === null ? null : firstChildOf(outer);
  return reaper === null ? null : firstChildOf(reaper);
}
