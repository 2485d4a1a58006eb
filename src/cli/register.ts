// `sallyport register`: lets a sandbox in and prints what it needs to come through the door. The secret it prints is
// shown this once; the gateway keeps only its hash.
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Grant, GrantedIdentity, PublicRecord } from '../gateway/admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { addRightsOptions, asRights, gather, type RightsOptions } from './steps/rights-options.ts';
import { exportLines, sandboxEnvironment } from './steps/sandbox-environment.ts';
import { prepareIdentityFolder, writeIdentity } from './steps/write-identity.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { joined, printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface RegisterOptions extends RightsOptions {
  readonly id?: string;
  readonly ip?: string;
  readonly container?: string;
  readonly network?: string;
  readonly containerId?: string;
  readonly proof?: string[];
  readonly expires?: string;
  readonly env?: boolean;
  readonly identity?: string;
}

export function addRegisterCommand(program: Command, context: CliContext): void {
  const register = program
    .command('register')
    .summary('let a sandbox in')
    .description('Registers a sandbox and prints what it needs to come through the door.')
    .option('--id <ID>', 'name it yourself (default: a random one)')
    .option('--ip <ADDRESS>', 'the address it calls from')
    .option('--container <NAME>', 'its Docker container, by name or id: Docker gives the rest')
    .option('--network <NETWORK>', 'the Docker network it calls from (default: docker.network, or its only one)')
    .addOption(new Option('--container-id <ID>', 'the same as --container').hideHelp().conflicts('container'));
  addRightsOptions(register)
    .option(
      '--proof <KIND>',
      'ip, secret, socket or mtls; may be repeated, all must hold (default: ip with --ip or --container, else secret)',
      gather,
    )
    .option(
      '--expires <TIME>',
      'ends at this time, e.g. 2027-01-15T00:00:00Z (default: 24 hours after its last request)',
    )
    .option('--identity <DIR>', 'with --proof mtls: the folder for the identity that `sallyport shim` uses')
    .option('--env', 'print only the export lines, for eval')
    .addHelpText(
      'after',
      `
Examples:
  sallyport register --container agent-1 --repo owner/repo
  sallyport register --ip 172.18.0.5 --repo owner/repo --credential github
  sallyport register --id builder --proof secret --expires 2027-01-15T00:00:00Z
  eval "$(sallyport register --ip 127.0.0.1 --env)"`,
    )
    .action(async (options: RegisterOptions, command: Command) => {
      const folder = identityFolder(context, options, wantsJson(command));
      if (folder !== null) prepareIdentityFolder(folder);
      const answer = await context.admin.call<PublicRecord & { grant: Grant }>(
        'POST',
        '/internal/containers',
        asRegistration(options),
      );
      const { grant, ...record } = answer;
      if (folder !== null && grant.identity !== undefined)
        await keepIdentity(context, record.id, folder, grant.identity);
      const variables = sandboxEnvironment(record.id, grant, context.places.caCertificate);
      if (options.env === true) return context.print(exportLines(variables).join('\n'));
      if (wantsJson(command)) {
        // The key is where it was to go, and nowhere else.
        const { identity: _written, ...rest } = grant;
        const shown = folder === null ? grant : rest;
        return printJson(context, { ...record, grant: shown, environment: Object.fromEntries(variables) });
      }
      describe(context, record, grant, exportLines(variables), folder);
    });
}

/** A key that could not be kept is lost: a registration that nobody can use would only be in the way of the next. */
async function keepIdentity(context: CliContext, id: string, folder: string, identity: GrantedIdentity): Promise<void> {
  try {
    await writeIdentity(folder, identity);
  } catch (error) {
    await context.admin.call('DELETE', `/internal/containers/${encodeURIComponent(id)}`);
    throw error;
  }
}

/** Null: no identity is asked for, or the caller reads it from the JSON. */
function identityFolder(context: CliContext, options: RegisterOptions, json: boolean): string | null {
  if (options.proof?.includes('mtls') !== true) {
    if (options.identity === undefined) return null;
    throw new CommandFailed(
      exitCode.usage,
      '--identity is only for --proof mtls',
      'Add --proof mtls, or leave --identity out.',
    );
  }
  if (options.identity !== undefined) return resolve(context.cwd, options.identity);
  if (json) return null;
  throw new CommandFailed(
    exitCode.usage,
    '--proof mtls gives you a key once: say where to put it',
    'Name a folder with --identity DIR, and give that folder to `sallyport shim --identity DIR`.',
  );
}

function asRegistration(options: RegisterOptions): object {
  const container = options.container ?? options.containerId;
  return {
    ...(options.id !== undefined && { id: options.id }),
    ...(options.ip !== undefined && { container_ip: options.ip }),
    ...(container !== undefined && { container_id: container }),
    ...(options.network !== undefined && { network: options.network }),
    ...asRights(options),
    ...(options.proof !== undefined && { proof: options.proof }),
    ...(options.expires !== undefined && { expires_at: options.expires }),
  };
}

function describe(
  context: CliContext,
  record: PublicRecord,
  grant: Grant,
  exports: readonly string[],
  identity: string | null,
): void {
  const { colors } = context;
  const lines = [
    `${colors.green('Registered')} ${colors.bold(printable(record.id))}`,
    `  proof        ${joined(record.proof)}`,
    ...containerLines(record.container),
    `  address      ${joined(record.container_ip)}`,
    `  repositories ${joined(record.repos)}`,
    `  credentials  ${record.credentials === null ? 'every configured one' : joined(record.credentials)}`,
    `  until        ${joined(record.expires_at)}`,
    '',
  ];
  if (grant.socket !== undefined) lines.push(`Its own socket: ${printable(grant.socket)}`, '');
  if (identity !== null) lines.push(`Its identity, for sallyport shim: ${printable(identity)}`, '');
  lines.push(colors.dim('# In the sandbox (a secret in it is shown only now):'), ...exports);
  // A container has its own files.
  if (record.container)
    lines.push(colors.dim('# These files are on this host: mount them, and use their paths inside the sandbox.'));
  lines.push('', colors.dim('# Then ask the door what this sandbox may do:'), 'curl http://sallyport.internal/policy');
  context.print(lines.join('\n'));
}

function containerLines(container: unknown): string[] {
  if (typeof container !== 'object' || container === null) return [];
  const { name, network } = container as Record<string, unknown>;
  return [
    `  container    ${joined(name)}`,
    `  network      ${network === null ? 'none (its own door)' : joined(network)}`,
  ];
}
