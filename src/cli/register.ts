// `sallyport register`: lets a sandbox in and prints what it needs to come through the door. The secret it prints is
// shown this once; the gateway keeps only its hash.
import type { Command } from 'commander';
import type { Grant, PublicRecord } from '../admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { joined, printable } from './printable.ts';
import { addRightsOptions, asRights, gather, type RightsOptions } from './rights-options.ts';
import { exportLines, sandboxEnvironment } from './sandbox-environment.ts';
import { printJson, wantsJson } from './wants-json.ts';

interface RegisterOptions extends RightsOptions {
  readonly id?: string;
  readonly ip?: string;
  readonly containerId?: string;
  readonly proof?: string[];
  readonly expires?: string;
  readonly env?: boolean;
}

export function addRegisterCommand(program: Command, context: CliContext): void {
  const register = program
    .command('register')
    .summary('let a sandbox in')
    .description('Registers a sandbox and prints what it needs to come through the door.')
    .option('--id <ID>', 'name it yourself (default: a random one)')
    .option('--ip <ADDRESS>', 'the address it calls from')
    .option('--container-id <ID>', 'its container');
  addRightsOptions(register)
    .option(
      '--proof <KIND>',
      'ip, secret or socket; may be repeated, all must hold (default: ip with --ip, else secret)',
      gather,
    )
    .option(
      '--expires <TIME>',
      'ends at this time, e.g. 2027-01-15T00:00:00Z (default: 24 hours after its last request)',
    )
    .option('--env', 'print only the export lines, for eval')
    .addHelpText(
      'after',
      `
Examples:
  sallyport register --ip 172.18.0.5 --repo owner/repo --credential github
  sallyport register --id builder --proof secret --expires 2027-01-15T00:00:00Z
  eval "$(sallyport register --ip 127.0.0.1 --env)"`,
    )
    .action(async (options: RegisterOptions, command: Command) => {
      const answer = await context.admin.call<PublicRecord & { grant: Grant }>(
        'POST',
        '/internal/containers',
        asRegistration(options),
      );
      const { grant, ...record } = answer;
      const variables = sandboxEnvironment(record.id, grant, context.places.caCertificate);
      if (options.env === true) return context.print(exportLines(variables).join('\n'));
      if (wantsJson(command)) return printJson(context, { ...answer, environment: Object.fromEntries(variables) });
      describe(context, record, grant, exportLines(variables));
    });
}

function asRegistration(options: RegisterOptions): object {
  return {
    ...(options.id !== undefined && { id: options.id }),
    ...(options.ip !== undefined && { container_ip: options.ip }),
    ...(options.containerId !== undefined && { container_id: options.containerId }),
    ...asRights(options),
    ...(options.proof !== undefined && { proof: options.proof }),
    ...(options.expires !== undefined && { expires_at: options.expires }),
  };
}

function describe(context: CliContext, record: PublicRecord, grant: Grant, exports: readonly string[]): void {
  const { colors } = context;
  const lines = [
    `${colors.green('Registered')} ${colors.bold(printable(record.id))}`,
    `  proof        ${joined(record.proof)}`,
    `  address      ${joined(record.container_ip)}`,
    `  repositories ${joined(record.repos)}`,
    `  credentials  ${record.credentials === null ? 'every configured one' : joined(record.credentials)}`,
    `  until        ${joined(record.expires_at)}`,
    '',
  ];
  if (grant.socket !== undefined) lines.push(`Its own socket: ${printable(grant.socket)}`, '');
  lines.push(colors.dim('# In the sandbox (a secret in it is shown only now):'), ...exports, '');
  lines.push(colors.dim('# Then, for example:'), 'curl https://api.anthropic.com/v1/models');
  context.print(lines.join('\n'));
}
