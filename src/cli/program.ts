// The command line as a whole: the list of commands, what they share, and how an error becomes words and an exit
// code. Each command is in its own file; this one must not know what they do.
import { Command } from 'commander';
import { packageVersion } from '../kit/files/package-version.ts';
import { addApproveCommand, addDenyCommand } from './approve.ts';
import { addAuditCommand } from './audit.ts';
import { addBackgroundCommand } from './background.ts';
import { addCaCommand } from './ca.ts';
import { addCheckCommand } from './check.ts';
import type { CliContext } from './cli-context.ts';
import { addCompletionCommand } from './completion.ts';
import { addConfigCommand } from './config.ts';
import { addDashboardCommand } from './dashboard.ts';
import { addDemoCommand } from './demo.ts';
import { addDockerViewCommand } from './docker-view.ts';
import { addDoctorCommand } from './doctor.ts';
import { addFirewallCommand } from './firewall.ts';
import { addInitCommand } from './init.ts';
import { addLearnCommand } from './learn.ts';
import { addListCommand } from './list.ts';
import { addLogsCommand } from './logs.ts';
import { addPolicyCommand } from './policy.ts';
import { addRedteamCommand } from './redteam.ts';
import { addRegisterCommand } from './register.ts';
import { addRenewCommand } from './renew.ts';
import { addRunCommand } from './run.ts';
import { addSecretCommand } from './secret.ts';
import { addServiceCommand } from './service.ts';
import { addShimCommand } from './shim.ts';
import { exitCodeHelp, judgeError } from './terminal/exit-code.ts';
import { addUninstallCommand } from './uninstall.ts';
import { addUnregisterCommand } from './unregister.ts';
import { addUpCommand } from './up.ts';
import { addWatchCommand } from './watch.ts';
import { addWorkerCommand } from './worker.ts';

/** In the order in which a person meets them. */
const commands = [
  ['Work:', [addInitCommand, addRunCommand, addWatchCommand, addApproveCommand, addDenyCommand, addLogsCommand]],
  ['Policy:', [addCheckCommand, addPolicyCommand, addConfigCommand, addLearnCommand]],
  ['Credentials:', [addSecretCommand]],
  [
    'A gateway of its own:',
    [
      addUpCommand,
      addServiceCommand,
      addDashboardCommand,
      addRegisterCommand,
      addUnregisterCommand,
      addRenewCommand,
      addListCommand,
    ],
  ],
  ['Is it right?', [addDoctorCommand, addDemoCommand, addRedteamCommand, addAuditCommand]],
  [
    'This machine:',
    [
      addCaCommand,
      addFirewallCommand,
      addDockerViewCommand,
      addShimCommand,
      addCompletionCommand,
      addUninstallCommand,
      addWorkerCommand,
      addBackgroundCommand,
    ],
  ],
] as const;

export function buildProgram(context: CliContext): Command {
  const program = new Command('sallyport')
    .description("The one door between an AI agent's sandbox and the world.")
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpCommand(new Command('help').argument('[command]').summary('print the help of a command').helpGroup('Work:'))
    .option('--json', 'print data as JSON')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.say(text.trimEnd()),
    })
    .showHelpAfterError('(--help shows how to use it)')
    .exitOverride()
    .addHelpText('afterAll', exitCodeHelp)
    .addHelpText(
      'after',
      `
Examples:
  sallyport init                                   write a first sallyport.yaml from what it finds here
  sallyport run -- claude                          an agent in a sandbox, with no key inside
  sallyport up                                     start the gateway
  sallyport secret set anthropic < key.txt         give it a credential
  sallyport register --ip 127.0.0.1 --env          let a sandbox in
  sallyport check GET https://api.anthropic.com/v1/models
  sallyport watch                                  see what happens, and answer what is asked

Environment:
  SALLYPORT_HOME    state of the gateway (default ~/.local/state/sallyport)
  SALLYPORT_CONFIG  the configuration file (default ./sallyport.yaml, ~/.config/sallyport/sallyport.yaml)
  NO_COLOR          no colours`,
    );
  for (const [task, ofTask] of commands) {
    program.commandsGroup(task);
    for (const add of ofTask) add(program, context);
  }
  return program;
}

/**
 * `run bash -c x` is `run -- bash -c x`: the first word that is no option of `run` is the command, and all behind it is the
 * command's own. Without this `-c` would be read as an option of ours.
 */
export function withSeparator(argv: readonly string[], program: Command): readonly string[] {
  const at = argv.findIndex((word) => !word.startsWith('-'));
  const run = program.commands.find((command) => command.name() === 'run');
  if (at < 0 || argv[at] !== 'run' || run === undefined) return argv;
  for (let i = at + 1; i < argv.length; i++) {
    const word = argv[i]!;
    if (word === '--') return argv;
    if (!word.startsWith('-') || word === '-') return [...argv.slice(0, i), '--', ...argv.slice(i)];
    const option = run.options.find(({ long, short }) => word === long || word === short);
    if (option?.required === true) i++;
  }
  return argv;
}

/** Runs one command line (without `node` and the script). Resolves to the exit code; never throws. */
export async function runCommandLine(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = buildProgram(context);
    await program.parseAsync(withSeparator(argv, program), { from: 'user' });
    return context.exitCode;
  } catch (error) {
    const { code, message, hint } = judgeError(error);
    if (message !== '') context.say(`sallyport: ${message}`);
    if (hint !== '') context.say(hint);
    return code;
  }
}
