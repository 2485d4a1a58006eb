// The one option that every command shares. In a file of its own because the program imports the commands, and they
// need this.
import type { Command } from 'commander';
import type { CliContext } from '../cli-context.ts';

/** Whether `--json` was given, before or after the command. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

export function printJson(context: CliContext, data: unknown): void {
  context.print(JSON.stringify(data, null, 2));
}
