// `sallyport worker`: a process that `sallyport up` starts beside itself to serve its doors (listen.workers). Not for people:
// without the channel that `up` gives it, it says so and ends.
import type { Command } from 'commander';
import { loadWorker } from '../gateway/load-service.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';

export function addWorkerCommand(program: Command, _context: CliContext): void {
  program.command('worker', { hidden: true }).action(async () => {
    if (process.connected !== true) {
      throw new CommandFailed(
        exitCode.usage,
        'a worker is started by `sallyport up`, not by hand',
        'Say how many there are to be with listen.workers in the configuration.',
      );
    }
    await (await loadWorker())();
  });
}
