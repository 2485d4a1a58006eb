// `sallyport ports`: what listens in the sandboxes, what of it this machine has, and changes of that while they run.
import type { Command } from 'commander';
import type { PortsOfSandbox, Publication } from '../gateway/admin/admin-ports.ts';
import { isLoopbackAddress, parsePublishedPort, placeOf } from '../kit/text/published-port.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { columns, printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

const titles = ['SANDBOX', 'PORT', 'INSIDE', 'THIS MACHINE'];

export function addPortsCommand(program: Command, context: CliContext): void {
  const ports = program
    .command('ports')
    .summary('what listens in a sandbox, and what of it this machine has')
    .description('Lists the ports that listen in the sandboxes of `run`, and which of them this machine has.')
    .argument('[id]', 'one sandbox (default: all)')
    .addHelpText(
      'after',
      `
Examples:
  sallyport ports
  sallyport ports publish sbx_4f1c 3000
  sallyport ports publish sbx_4f1c 0:3000      # a free port of this machine
  sallyport ports unpublish sbx_4f1c 3000`,
    )
    .action(async (id: string | undefined, _options: object, command: Command) => {
      const { sandboxes } = await context.admin.call<{ sandboxes: PortsOfSandbox[] }>('GET', '/internal/ports');
      const shown = sandboxes.filter(({ sandbox }) => id === undefined || sandbox === id);
      if (id !== undefined && shown.length === 0)
        throw new CommandFailed(
          exitCode.failure,
          `no sandbox of run is called ${printable(id)}`,
          'See: sallyport list',
        );
      if (wantsJson(command)) return printJson(context, shown);
      const rows = shown.flatMap(rowsOf);
      if (rows.length === 0) return context.say('Nothing listens in a sandbox, and nothing is published.');
      context.print(columns(titles, rows).join('\n'));
    });
  ports
    .command('publish')
    .description("Gives this machine a port of a sandbox, on this machine's loopback unless you name an address.")
    .argument('<id>', 'the sandbox')
    .argument('<port>', '[[IP:]HOST_PORT:]PORT')
    .addHelpText('after', '\nExamples:\n  sallyport ports publish sbx_4f1c 8080:3000')
    .action(async (id: string, text: string, _options: object, command: Command) => {
      const read = parsePublishedPort(text);
      if ('problem' in read) throw new CommandFailed(exitCode.usage, `${printable(text)}: ${read.problem}`);
      const published = await context.admin.call<Publication>('POST', pathOf(id), { port: text });
      if (wantsJson(command)) return printJson(context, published);
      context.print(`${placeHere(published)} is port ${published.port} of ${printable(id)}`);
      if (!isLoopbackAddress(published.address))
        context.say(`Whoever can reach ${printable(published.address)} reaches this sandbox.`);
    });
  ports
    .command('unpublish')
    .description('Takes it back; what is open through it ends.')
    .argument('<id>', 'the sandbox')
    .argument('<port>', 'the port inside')
    .addHelpText('after', '\nExamples:\n  sallyport ports unpublish sbx_4f1c 3000')
    .action(async (id: string, text: string, _options: object, command: Command) => {
      if (!/^\d{1,5}$/.test(text)) throw new CommandFailed(exitCode.usage, `${printable(text)} is no port`);
      const answer = await context.admin.call<object>('DELETE', `${pathOf(id)}?port=${text}`);
      if (wantsJson(command)) return printJson(context, answer);
      context.print(`Port ${text} of ${printable(id)} is this machine's no more`);
    });
}

function pathOf(id: string): string {
  return `/internal/containers/${encodeURIComponent(id)}/ports`;
}

function rowsOf({ sandbox, listening, published }: PortsOfSandbox): string[][] {
  const all = [...new Set([...listening, ...published].map(({ port }) => port))].sort((a, b) => a - b);
  return all.map((port) => [
    printable(sandbox),
    String(port),
    listening
      .find((one) => one.port === port)
      ?.addresses.map(printable)
      .join(', ') ?? 'nothing listens',
    published
      .filter((one) => one.port === port)
      .map(placeHere)
      .join(', ') || '-',
  ]);
}

function placeHere({ address, hostPort }: Publication): string {
  return address === '127.0.0.1' ? `http://localhost:${hostPort}` : printable(placeOf(address, hostPort));
}
