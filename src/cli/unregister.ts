// `sallyport unregister`: a sandbox may no longer come through the door. Its open connections end.
import type { Command } from 'commander';
import type { Unregistered } from '../gateway/admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addUnregisterCommand(program: Command, context: CliContext): void {
  program
    .command('unregister')
    .summary('shut a sandbox out')
    .description('Removes a registration; what the sandbox has open is closed.')
    .argument('<id-or-ip>', 'the sandbox')
    .addHelpText('after', '\nExamples:\n  sallyport unregister sbx_4f1c\n  sallyport unregister 172.18.0.5')
    .action(async (which: string, _options: object, command: Command) => {
      const path = `/internal/containers/${encodeURIComponent(which)}`;
      const unconfirmed = (await context.admin.call<Unregistered | undefined>('DELETE', path))?.unconfirmed ?? [];
      if (wantsJson(command)) return printJson(context, { unregistered: which, unconfirmed });
      context.print(`${context.colors.green('Unregistered')} ${printable(which)}`);
      if (unconfirmed.length === 0) return;
      context.say(
        `Not confirmed by: ${unconfirmed.map(printable).join(', ')}. It is shut out here; there it is shut out as soon as they hear of it.`,
      );
    });
}
