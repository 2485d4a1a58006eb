// `sallyport list`: the sandboxes that may come through the door.
import type { Command } from 'commander';
import type { PublicRecord } from '../gateway/admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { columns, joined } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

const titles = ['ID', 'CONTAINER', 'ADDRESS', 'PROOF', 'MODE', 'UNTIL', 'SPENT', 'CREDENTIALS', 'REPOSITORIES'];

export function addListCommand(program: Command, context: CliContext): void {
  program
    .command('list')
    .summary('the registered sandboxes')
    .description('Lists the registered sandboxes.')
    .addHelpText('after', '\nExamples:\n  sallyport list\n  sallyport list --json')
    .action(async (_options: object, command: Command) => {
      const answer = await context.admin.call<{ containers: PublicRecord[] }>('GET', '/internal/containers');
      if (wantsJson(command)) return printJson(context, answer.containers);
      if (answer.containers.length === 0) {
        return context.say('No sandbox is registered. Let one in with: sallyport register --ip ADDRESS');
      }
      context.print(columns(titles, answer.containers.map(asRow)).join('\n'));
    });
}

function asRow(record: PublicRecord): string[] {
  return [
    joined(record.id),
    joined(containerName(record.container)),
    joined(record.container_ip),
    joined(record.proof),
    joined(record.auth_mode),
    joined(record.expires_at),
    spending(record.spent),
    record.credentials === null ? 'all' : joined(record.credentials),
    joined(record.repos),
  ];
}

/** What models have cost it in this period. */
function spending(spent: unknown): string {
  if (typeof spent !== 'object' || spent === null || !('tokens' in spent) || !('dollars' in spent)) return '-';
  const { tokens, dollars } = spent;
  if (typeof tokens !== 'number' || typeof dollars !== 'number' || tokens === 0) return '-';
  return `$${dollars.toFixed(2)}, ${tokens} tokens`;
}

function containerName(container: unknown): unknown {
  return typeof container === 'object' && container !== null && 'name' in container ? container.name : null;
}
