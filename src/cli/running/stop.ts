// `sallyport stop`: ends a sandbox of `run`: first its command is asked to end, then every process of it is ended.
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { ControlClient } from '../../sandbox/hands/control-client.ts';
import type { CliContext } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';
import { printJson, wantsJson } from '../terminal/wants-json.ts';
import { findRunning } from './find-running.ts';

export function addStopCommand(program: Command, context: CliContext): void {
  program
    .command('stop')
    .summary('end a sandbox that runs')
    .description(
      'Asks the command of a sandbox to end (SIGTERM), and ends every process of it when that takes too long.',
    )
    .argument('[id]', 'the sandbox, by id or name; may be left out where one runs')
    .option('--time <SECONDS>', 'how long it may take', asSeconds, 10)
    .addHelpText('after', '\nExamples:\n  sallyport stop\n  sallyport stop web\n  sallyport stop web --time 0')
    .action(async (which: string | undefined, options: { time: number }, command: Command) => {
      const record = findRunning(context, which);
      await new ControlClient(context.places.home, record).stop(options.time);
      if (wantsJson(command)) return printJson(context, { stopped: record.id });
      context.print(`${context.colors.green('Stopped')} ${printable(record.name ?? record.id)}`);
    });
}

function asSeconds(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of seconds.');
  return Number(text);
}
