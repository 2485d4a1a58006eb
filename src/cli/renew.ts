// `sallyport renew`: another 24 hours for a sandbox whose registration is not bound to a fixed end.
import type { Command } from 'commander';
import type { PublicRecord } from '../gateway/admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addRenewCommand(program: Command, context: CliContext): void {
  program
    .command('renew')
    .summary('give a sandbox another 24 hours')
    .description('Extends a registration by 24 hours. One made with --expires is final and is not renewed.')
    .argument('<id>', 'the sandbox')
    .addHelpText('after', '\nExamples:\n  sallyport renew sbx_4f1c')
    .action(async (id: string, _options: object, command: Command) => {
      const record = await context.admin.call<PublicRecord>(
        'POST',
        `/internal/containers/${encodeURIComponent(id)}/renew`,
      );
      if (wantsJson(command)) printJson(context, record);
      else {
        context.print(
          `${context.colors.green('Renewed')} ${printable(record.id)} until ${printable(record.expires_at)}`,
        );
      }
    });
}
