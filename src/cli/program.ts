// All commands, by what a person wants to do. Each is in its own file, and loaded when somebody asks for it.
import type { Command } from 'commander';
import { buildProgramOf, type CommandTable, runWithCommands } from './build-program.ts';
import type { CliContext } from './cli-context.ts';

/** In the order in which a person meets them. */
const commands: CommandTable = [
  [
    'Work:',
    [
      ['init', async () => (await import('./init.ts')).addInitCommand],
      ['run', async () => (await import('./run.ts')).addRunCommand],
      ['watch', async () => (await import('./watch.ts')).addWatchCommand],
      ['approve', async () => (await import('./approve.ts')).addApproveCommand],
      ['deny', async () => (await import('./approve.ts')).addDenyCommand],
      ['logs', async () => (await import('./logs.ts')).addLogsCommand],
    ],
  ],
  [
    'Sandboxes that run:',
    [
      ['ps', async () => (await import('./running/ps.ts')).addPsCommand],
      ['exec', async () => (await import('./running/exec.ts')).addExecCommand],
      ['stop', async () => (await import('./running/stop.ts')).addStopCommand],
    ],
  ],
  [
    'Policy:',
    [
      ['check', async () => (await import('./check.ts')).addCheckCommand],
      ['policy', async () => (await import('./policy.ts')).addPolicyCommand],
      ['config', async () => (await import('./config.ts')).addConfigCommand],
      ['learn', async () => (await import('./learn.ts')).addLearnCommand],
    ],
  ],
  ['Credentials:', [['secret', async () => (await import('./secret.ts')).addSecretCommand]]],
  [
    'A gateway of its own:',
    [
      ['up', async () => (await import('./up.ts')).addUpCommand],
      ['service', async () => (await import('./service.ts')).addServiceCommand],
      ['dashboard', async () => (await import('./dashboard.ts')).addDashboardCommand],
      ['register', async () => (await import('./register.ts')).addRegisterCommand],
      ['unregister', async () => (await import('./unregister.ts')).addUnregisterCommand],
      ['renew', async () => (await import('./renew.ts')).addRenewCommand],
      ['ports', async () => (await import('./ports.ts')).addPortsCommand],
      ['list', async () => (await import('./list.ts')).addListCommand],
    ],
  ],
  [
    'Is it right?',
    [
      ['doctor', async () => (await import('./doctor.ts')).addDoctorCommand],
      ['demo', async () => (await import('./demo.ts')).addDemoCommand],
      ['redteam', async () => (await import('./redteam.ts')).addRedteamCommand],
      ['audit', async () => (await import('./audit.ts')).addAuditCommand],
    ],
  ],
  [
    'This machine:',
    [
      ['ca', async () => (await import('./ca.ts')).addCaCommand],
      ['firewall', async () => (await import('./firewall.ts')).addFirewallCommand],
      ['docker-view', async () => (await import('./docker-view.ts')).addDockerViewCommand],
      ['shim', async () => (await import('./shim.ts')).addShimCommand],
      ['completion', async () => (await import('./completion.ts')).addCompletionCommand],
      ['uninstall', async () => (await import('./uninstall.ts')).addUninstallCommand],
      ['worker', async () => (await import('./worker.ts')).addWorkerCommand],
      ['background', async () => (await import('./background.ts')).addBackgroundCommand],
    ],
  ],
];

/** `only`: the one command that is asked for. */
export function buildProgram(context: CliContext, only?: string): Promise<Command> {
  return buildProgramOf(context, commands, only);
}

/** Runs one command line (without `node` and the script). Resolves to the exit code; never throws. */
export function runCommandLine(argv: readonly string[], context: CliContext): Promise<number> {
  return runWithCommands(commands, argv, context);
}
