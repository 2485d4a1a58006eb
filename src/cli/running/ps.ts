// `sallyport ps`: the sandboxes of `run` on this machine, of this user.
import type { Command } from 'commander';
import { type RunningRecord, readRunning } from '../../sandbox/hands/running-records.ts';
import type { CliContext } from '../cli-context.ts';
import { columns, joined, printable } from '../terminal/printable.ts';
import { printJson, wantsJson } from '../terminal/wants-json.ts';

const titles = ['ID', 'NAME', 'LAUNCHER', 'SINCE', 'STATE', 'LIMITS', 'PORTS', 'COMMAND'];
const maxCommand = 60;

export function addPsCommand(program: Command, context: CliContext): void {
  program
    .command('ps')
    .summary('the sandboxes that run')
    .description('Lists the sandboxes that `run` has started on this machine and that have not ended.')
    .option('-a, --all', 'also those that had a name or ran in the background, and have ended')
    .addHelpText('after', '\nExamples:\n  sallyport ps\n  sallyport ps -a\n  sallyport ps --json')
    .action((options: { all?: boolean }, command: Command) => {
      const records = readRunning(context.places.home, { ended: options.all === true });
      if (wantsJson(command)) return printJson(context, records.map(asData));
      if (records.length === 0) return context.say('No sandbox runs. Start one with: sallyport run -- COMMAND');
      context.print(columns(titles, records.map(asRow)).join('\n'));
    });
}

/** What scripts may rely on. */
function asData({ id, name, launcher, command, workingDirectory, since, state, ...record }: RunningRecord): object {
  return {
    ...{ id, name, launcher, command, working_directory: workingDirectory, since, state },
    ...{ exit_code: record.exitCode, ended_at: record.endedAt, background: record.background },
    ...{ limits: record.limits, ports: record.ports },
  };
}

function asRow(record: RunningRecord): string[] {
  const command = printable(record.command.join(' '));
  return [
    printable(record.id),
    printable(record.name ?? '-'),
    record.launcher,
    record.since.replace(/\.\d+Z$/, 'Z'),
    stateOf(record),
    joined(record.limits),
    joined(record.ports),
    command.length > maxCommand ? `${command.slice(0, maxCommand - 1)}…` : command,
  ];
}

function stateOf({ state, exitCode, background }: RunningRecord): string {
  if (state === 'ended') return exitCode === null ? 'lost' : `ended (${exitCode})`;
  return background ? `${state}, in the background` : state;
}
