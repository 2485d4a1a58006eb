// Which of the sandboxes that run is meant: by its id or its name, or without a word where there is only one.
import { findRecord, type RunningRecord, readRunning } from '../../sandbox/hands/running-records.ts';
import type { CliContext } from '../cli-context.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';
import { joined, printable } from '../terminal/printable.ts';

export function findRunning(context: CliContext, which: string | undefined): RunningRecord {
  const { home } = context.places;
  if (which !== undefined) {
    const found = findRecord(home, which);
    if (found !== null && found.state !== 'ended') return found;
    const [problem, hint] =
      found === null
        ? [`no sandbox ${printable(which)} runs`, 'sallyport ps lists those that do']
        : [`the sandbox ${printable(which)} has ended${inWords(found)}`, 'start it again: sallyport run'];
    throw new CommandFailed(exitCode.failure, problem, hint);
  }
  const running = readRunning(home);
  if (running.length === 1) return running[0]!;
  if (running.length === 0)
    throw new CommandFailed(exitCode.failure, 'no sandbox runs', 'start one: sallyport run -- COMMAND');
  const names = running.map(({ id, name }) => name ?? id);
  throw new CommandFailed(exitCode.usage, `${running.length} sandboxes run: name one`, `They are: ${joined(names)}`);
}

function inWords({ exitCode: code }: RunningRecord): string {
  return code === null ? '' : ` (exit code ${code})`;
}
