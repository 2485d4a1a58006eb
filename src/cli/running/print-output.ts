// What the command of a sandbox in the background has printed. As it came: it is the output of a command of theirs, as with `run`.
import { readOutput } from '../../sandbox/hands/kept-output.ts';
import { findRecord } from '../../sandbox/hands/running-records.ts';
import type { CliContext } from '../cli-context.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';
import { printable } from '../terminal/printable.ts';

export function printOutput({ places }: Pick<CliContext, 'places'>, which: string): void {
  const record = findRecord(places.home, which);
  const output = record === null ? null : readOutput(places.home, record.id);
  if (output === null)
    throw new CommandFailed(
      exitCode.failure,
      `nothing is kept of ${printable(which)}`,
      'sallyport ps -a lists what ran in the background',
    );
  process.stdout.write(output);
}
