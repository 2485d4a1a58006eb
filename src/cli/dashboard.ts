// `sallyport dashboard`: a fresh address of the dashboard, good for one visit. Opens no browser: the page may be looked
// at from another machine, through a forwarded port.
import type { Command } from 'commander';
import { AdminRefused } from '../gateway/admin/admin-client.ts';
import type { CliContext } from './cli-context.ts';
import { livingGateways } from './steps/config-here.ts';
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
      const pages = await pagesOf(context);
      const [first] = pages;
      // Says what is in the way: no gateway, or none with a page.
      const address =
        first?.address ?? (await context.admin.call<{ address: string }>('POST', '/internal/dashboard')).address;
      if (wantsJson(command)) return printJson(context, pages.length > 1 ? { address, pages } : { address });
      if (pages.length > 1) context.say('Several gateways run, each with a page of its own sandboxes:');
      for (const page of pages.length > 1 ? pages : [{ address }]) {
        context.print(printable(page.address));
        if ('config' in page)
          context.say(
            `  ${page.sandboxes} ${page.sandboxes === 1 ? 'sandbox' : 'sandboxes'}, by ${printable(page.config)}`,
          );
      }
      if (context.isTerminal) context.say(context.colors.dim('Good for one visit, within ten minutes.'));
    });
}

interface Page {
  readonly address: string;
  /** What its gateway follows. */
  readonly config: string;
  readonly sandboxes: number;
}

async function pagesOf({ places }: CliContext): Promise<Page[]> {
  const pages = (await livingGateways(places.home)).map(async ({ client, report }): Promise<Page[]> => {
    try {
      const { address } = await client.call<{ address: string }>('POST', '/internal/dashboard');
      return [{ address, config: report.config, sandboxes: report.sandboxes }];
    } catch (error) {
      if (error instanceof AdminRefused && error.code === 'dashboard.not-served') return [];
      throw error;
    }
  });
  return (await Promise.all(pages)).flat();
}
