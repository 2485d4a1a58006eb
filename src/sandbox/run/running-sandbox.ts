// A sandbox whose command runs below a namespace holder: how it ends, how it is signalled, its streams. Signals go to the
// command itself, never to the processes between: those would end, and the sandbox with them, instead of passing them on.
import { killProcess, type NamespaceHolder } from '../namespace/namespace-holder.ts';
import type { RunningSandbox, SandboxStdio } from './sandbox-plan.ts';

export function runningIn(
  holder: NamespaceHolder,
  stdio: SandboxStdio,
  command: Pick<RunningSandbox, 'exec'> & { readonly findCommand: () => number | null },
): RunningSandbox {
  const { stdin, stdout } = holder.process;
  const stderr = holder.errors;
  return {
    ended: holder.ended,
    signal(signal) {
      // Looked up each time: an id kept from before could be another's by now.
      const pid = command.findCommand();
      if (pid !== null) killProcess(pid, signal);
    },
    kill: holder.kill,
    exec: command.exec,
    streams: stdio === 'piped' && stdin && stdout && stderr ? { stdin, stdout, stderr } : null,
  };
}
