// `sallyport service`: a warm gateway as a systemd user unit. systemd opens the admin socket and starts the gateway with the first
// one who comes, or at login; `run` joins it by itself.
import { lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { GatewayUnreachable } from '../gateway/admin/admin-client.ts';
import { checkConfigIsTheUsers } from '../gateway/config/trusted-config.ts';
import { writeFileAtomically } from '../kit/files/atomic-file.ts';
import { ensurePrivateDirectory } from '../kit/files/secure-directory.ts';
import {
  findService,
  isOurs,
  type ServicePlace,
  systemctl,
  unitFolder,
  unitNames,
  writeUnits,
} from '../sandbox/uninstall/uninstall-service.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';

export function addServiceCommand(program: Command, context: CliContext): void {
  const service = program
    .command('service')
    .summary('keep a gateway warm, with systemd')
    .description('Keeps a gateway warm for `run`, as a systemd user unit. `run` joins it by itself.')
    .addHelpText('after', '\nExamples:\n  sallyport service install\n  sallyport service remove');
  service
    .command('install')
    .summary('start it now and at every login')
    .description(
      'Writes sallyport.socket and sallyport.service into ~/.config/systemd/user, and starts them now and at every login.',
    )
    .option('--config <FILE>', 'the configuration (default: ~/.config/sallyport/sallyport.yaml, else the built-in one)')
    .addHelpText(
      'after',
      '\nExamples:\n  sallyport service install\n  sallyport service install --config ~/work/sallyport.yaml',
    )
    .action((options: { config?: string }) => install(context, options.config));
  service
    .command('remove')
    .summary('stop it, and take it away')
    .description(
      'Stops the service and removes its units. Sandboxes that it serves have no network until they find another gateway.',
    )
    .addHelpText('after', '\nExamples:\n  sallyport service remove')
    .action(() => remove(context));
}

async function install(context: CliContext, named: string | undefined): Promise<void> {
  const place = placeOf(context);
  await needSystemd(place);
  await refuseWhileOneRuns(context);
  const folder = unitFolder(place);
  const foreign = unitNames
    .map((name) => join(folder, name))
    .find((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined && !isOurs(path));
  if (foreign !== undefined)
    throw new CommandFailed(exitCode.failure, `${foreign} is there, and is not ours`, 'Look at it, then move it away.');
  const { home, adminSocket, runDirectory } = context.places;
  for (const directory of [home, runDirectory]) ensurePrivateDirectory(directory);
  if (named !== undefined) await checkConfigIsTheUsers(context, named);
  const config = named === undefined ? [] : ['--config', resolve(context.cwd, named)];
  const main = process.argv[1] ?? '';
  const units = writeUnits({
    command: [process.execPath, ...process.execArgv, main, 'background', '--service', ...config],
    stateFolder: home,
    adminSocket,
    path: context.env.PATH ?? '',
  });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(units)) await writeFileAtomically(join(folder, name), text, 0o644);
  try {
    await systemctl(place.env, 'daemon-reload');
    await systemctl(place.env, 'enable', '--now', ...unitNames);
  } catch (error) {
    for (const item of findService(place).removable) await item.remove();
    throw new CommandFailed(
      exitCode.failure,
      `the service did not start, and was removed again: ${error instanceof Error ? error.message : String(error)}`,
      'See why: journalctl --user -u sallyport',
    );
  }
  context.print(`${context.colors.green('Installed')} ${printable(folder)}/sallyport.{socket,service}`);
  context.say(
    '`sallyport run` joins it where it would follow the same configuration. Its log: journalctl --user -u sallyport',
  );
  context.say(
    'It has no variable of your shell: keys come from files, commands, your agents, or `sallyport secret set`.',
  );
}

async function remove(context: CliContext): Promise<void> {
  const { removable } = findService(placeOf(context));
  if (removable.length === 0) return context.say('There is no service of Sallyport here.');
  for (const item of removable) {
    await item.remove();
    context.print(`${context.colors.green('Removed')} ${printable(item.what)}`);
  }
}

function placeOf({ env }: CliContext): ServicePlace {
  return { env, userHome: env.HOME || homedir() };
}

async function needSystemd(place: ServicePlace): Promise<void> {
  try {
    await systemctl(place.env, 'show-environment');
  } catch (error) {
    throw new CommandFailed(
      exitCode.failure,
      `there is no systemd for this user here: ${error instanceof Error ? error.message : String(error)}`,
      'Nothing was written. Keep a gateway warm with `sallyport up` in a terminal, or under another supervisor; `run` joins it as well.',
    );
  }
}

/** systemd would take its socket away. */
async function refuseWhileOneRuns({ admin }: CliContext): Promise<void> {
  try {
    await admin.call('GET', '/internal/health');
  } catch (error) {
    if (error instanceof GatewayUnreachable) return;
  }
  throw new CommandFailed(
    exitCode.failure,
    'a gateway is running',
    'Let its sandboxes end, or stop it (Ctrl-C where `sallyport up` runs; sallyport service remove), then run this again.',
  );
}
