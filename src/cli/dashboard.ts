// `sallyport dashboard`: a fresh address of the dashboard, good for one visit. Opens no browser: the page may be looked
// at from another machine, through a forwarded port.
import type { Command } from 'commander';
import type { CliContext } from './cli-context.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addDashboardCommand(program: Command, context: CliContext): void {
  program
    .command('dashboard')
    .summary('the address of the dashboard, good for one visit')
    .description(
      "Prints an address that opens the running gateway's dashboard, once and within ten minutes. The dashboard is served where\n" +
        '`listen.dashboard` says, on this machine alone; `sallyport run --dashboard` serves one for as long as it runs.',
    )
    .addHelpText(
      'after',
      `
Examples:
  sallyport dashboard                           open it by hand: as an argument of a browser, every user's ps would show it
  ssh -L 8642:127.0.0.1:8642 build-machine      look at the page of another machine, at the same port`,
    )
    .action(async (_options: object, command: Command) => {
      const answer = await context.admin.call<{ address: string }>('POST', '/internal/dashboard');
      if (wantsJson(command)) return printJson(context, answer);
      context.print(printable(answer.address));
      if (context.isTerminal) context.say(context.colors.dim('Good for one visit, within ten minutes.'));
    });
}
