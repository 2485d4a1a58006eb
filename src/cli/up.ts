// `sallyport up`: the gateway in the foreground. Says what is live, then stays until a signal: SIGHUP reads the
// configuration again, SIGTERM and SIGINT let open requests finish, a second one ends at once.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { checkConfigIsTheUsers } from '../gateway/config/trusted-config.ts';
import type { Gateway, StartCredential, StartSummary } from '../gateway/contract.ts';
import { loadService } from '../gateway/load-service.ts';
import type { CliContext } from './cli-context.ts';
import { approvingPerson } from './steps/approve-edit.ts';
import { stateOfCredential } from './steps/credential-states.ts';
import { addUpOptions, listenOf, refuseCredentialVariables, type UpOptions } from './steps/up-options.ts';
import type { Listener } from './steps/who-listens.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

/** The part of `process` that is needed, so that a test can send signals to the command alone. */
export interface Signals {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  removeListener(signal: NodeJS.Signals, listener: () => void): unknown;
  exit(code: number): void;
}

export function addUpCommand(program: Command, context: CliContext): void {
  const up = program
    .command('up')
    .summary('start the gateway in the foreground')
    .description('Starts the gateway in the foreground and says what is live.')
    .option(
      '--config <FILE>',
      'the configuration (default: $SALLYPORT_CONFIG, ./sallyport.yaml, ~/.config/sallyport/)',
    );
  addUpOptions(up)
    .addHelpText(
      'after',
      `
Signals:
  SIGHUP            reads the configuration again
  SIGTERM, SIGINT   lets open requests finish, then ends; a second one ends at once

Examples:
  sallyport up
  sallyport up --config ./sallyport.yaml
  sallyport up --listen-proxy 172.30.0.0/24:8080 --publish /handover   in a container: the address it has in that subnet`,
    )
    .action(async (options: UpOptions, command: Command) => {
      await checkConfigIsTheUsers(context, options.config, approvingPerson(context));
      const listen = await listenOf(options);
      const start = await loadService();
      const gateway = await start({
        home: context.places.home,
        ...(options.config !== undefined && { config: options.config }),
        ...(options.refuseCredentialVariables === true && {
          judge: ({ credentials }) => refuseCredentialVariables(context.env, credentials),
        }),
        ...(listen !== null && { listen }),
        ...(process.argv[1] !== undefined && { workerEntry: process.argv[1] }),
        ...(options.publish !== undefined && { publish: resolve(context.cwd, options.publish) }),
      }).catch(async (error: unknown) => {
        if (!(error instanceof Error) || error.name !== 'HomeInUse') throw error;
        throw await alreadyUp(context.places.adminSocket, error);
      });
      if (wantsJson(command)) printJson(context, gateway.summary);
      else context.print(describeStart(context, gateway.summary, options.verbose === true));
      await serveUntilSignal(gateway, context, process as Signals);
    });
}

/** Who has the place that was wanted: of no use to nobody who does not know which process it is. */
async function alreadyUp(adminSocket: string, cause: Error): Promise<CommandFailed> {
  const { whoListens } = await import('./steps/who-listens.ts');
  const who = await whoListens(adminSocket);
  if (who === null) return new CommandFailed(exitCode.failure, cause.message);
  const since = who.since === null ? '' : `, since ${who.since.toISOString().replace(/\.\d+Z$/, 'Z')}`;
  const command = who.command === '' ? '' : ` (${printable(who.command)})`;
  return new CommandFailed(
    exitCode.failure,
    `a gateway is up already: process ${who.pid}${command}${since}; its admin socket is ${printable(adminSocket)}`,
    `Use it: sallyport list, sallyport watch. ${endOf(who)} For a second one beside it: SALLYPORT_HOME=DIRECTORY sallyport up`,
  );
}

/** One that a run has started would only be started again by it. */
function endOf({ pid, command }: Listener): string {
  return command === 'sallyport background'
    ? 'A run has started it, and it ends by itself with the last run.'
    : `To stop it: kill ${pid}.`;
}

/** A screen. `isFull`: every control with its words. */
export function describeStart(context: Pick<CliContext, 'colors'>, summary: StartSummary, isFull = false): string {
  const { colors } = context;
  const lines = [colors.bold('Sallyport is up.'), ''];
  const fact = (name: string, text: string) => lines.push(`  ${name.padEnd(12)} ${text}`);
  fact('config', `${printable(summary.config)} (${summary.rules} rules for hosts)`);
  for (const door of summary.doors) fact('door', printable(door));
  fact('admin', printable(summary.adminSocket));
  fact('CA', printable(summary.caPath));
  if (summary.dashboard !== null) {
    fact(
      'dashboard',
      `${printable(summary.dashboard)}  ${colors.dim('(good for one visit; another: sallyport dashboard)')}`,
    );
  }
  const live = summary.controls.filter((control) => control.live);
  lines.push(
    '',
    isFull ? 'Controls' : `Controls: ${live.length} of ${summary.controls.length} live (--verbose: each of them)`,
  );
  for (const { name, live, detail } of isFull
    ? summary.controls
    : summary.controls.filter((control) => !control.live)) {
    const state = live ? colors.green('live') : colors.red('OFF ');
    lines.push(`  ${state}  ${printable(name).padEnd(12)} ${colors.dim(printable(detail))}`.trimEnd());
  }
  lines.push('', 'Credentials');
  if (summary.credentials.length === 0) lines.push('  none configured');
  const empty = isFull ? [] : summary.credentials.filter(waitsForValue);
  for (const one of summary.credentials.filter((one) => !empty.includes(one))) {
    const { name, source } = one;
    const state = stateOfCredential(one);
    const color = state === 'missing' || state === 'unreadable' ? colors.yellow : colors.green;
    const todo = waitsForValue(one) ? colors.dim(`  sallyport secret set ${printable(name)} < file`) : '';
    lines.push(`  ${color(state.padEnd(10))}  ${printable(name).padEnd(12)} ${printable(source)}${todo}`);
    if (one.error) lines.push(`              ${colors.yellow('problem')}  ${printable(one.error)}`);
  }
  if (empty.length > 0) {
    lines.push(`  ${colors.yellow('missing')}     ${empty.map(({ name }) => printable(name)).join(', ')}`);
    lines.push(`              ${colors.dim(`sallyport secret set ${printable(empty[0]!.name)} < file`)}`);
  }
  for (const warning of summary.warnings) {
    lines.push('', `${colors.yellow('warning')} ${warning.split('\n').map(printable).join('\n        ')}`);
  }
  lines.push('', colors.dim('Let a sandbox in: sallyport register --ip ADDRESS'));
  return lines.join('\n');
}

/** In the memory of the gateway, and nobody has set it: all of these are told in one line. */
function waitsForValue(one: StartCredential): boolean {
  return one.source === 'memory' && stateOfCredential(one) === 'missing';
}

/** Resolves when the gateway has stopped. */
export function serveUntilSignal(
  gateway: Pick<Gateway, 'reload' | 'stop'>,
  context: Pick<CliContext, 'say'>,
  signals: Signals,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    const reload = (): void => {
      if (stopping) return;
      gateway.reload().then(
        () => context.say('The configuration was read again and is in force.'),
        (error: unknown) =>
          context.say(
            `The configuration was NOT taken over, the old one stays in force:\n${error instanceof Error ? error.message : error}`,
          ),
      );
    };
    const stop = (): void => {
      if (stopping) {
        context.say('Ended at once; open requests were cut off.');
        signals.exit(130);
        return;
      }
      stopping = true;
      context.say('Letting open requests finish … (once more ends at once)');
      gateway
        .stop()
        .then(resolve, reject)
        .finally(() => {
          signals.removeListener('SIGHUP', reload);
          signals.removeListener('SIGTERM', stop);
          signals.removeListener('SIGINT', stop);
        });
    };
    signals.on('SIGHUP', reload);
    signals.on('SIGTERM', stop);
    signals.on('SIGINT', stop);
  });
}
