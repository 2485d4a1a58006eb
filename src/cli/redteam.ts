// `sallyport redteam`: attacks the door from inside a real sandbox and says what held. Starts a gateway, a policy, a pretend
// internet and sandboxes of its own; touches neither the user's gateway nor the user's secrets.
import { type Command, Option } from 'commander';
import type { Attack } from '../prove/redteam/attack.ts';
import { countVerdicts } from '../prove/redteam/judge.ts';
import type { PreparedGround } from '../prove/redteam/prepare-ground.ts';
import type { AttackResult } from '../prove/redteam/run-attacks.ts';
import type { Launcher, LauncherName } from '../sandbox/run/sandbox-plan.ts';
import type { CliContext } from './cli-context.ts';
import { interruption, startQuietGateway } from './steps/quiet-gateway.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { ProgressLine } from './terminal/progress-line.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface RedteamOptions {
  readonly launcher?: LauncherName;
  readonly image?: string;
  readonly only?: string[];
  readonly list?: boolean;
}

export function addRedteamCommand(program: Command, context: CliContext): void {
  program
    .command('redteam')
    .summary('attack the door from inside a sandbox, and see what holds')
    .description(
      'Starts a sandbox with a gateway, a policy and a pretend internet of its own, attacks the door from inside, and ' +
        'prints what held, with the proof. Nothing leaves this machine.',
    )
    .option('--only <NAME...>', 'run only these attacks')
    .option('--list', 'list the attacks')
    .addOption(
      new Option(
        '--launcher <NAME>',
        'how the sandbox is isolated (default: bubblewrap, or namespaces without it)',
      ).choices(['bubblewrap', 'docker', 'namespaces', 'podman', 'unshare']),
    )
    .option('--image <IMAGE>', 'in this image, with Docker; it must contain node')
    .addHelpText(
      'after',
      `
Verdicts:
  held      refused, and there is proof that it was refused by us
  hole      it got through
  unproven  it did not get through, but nothing shows that we stopped it
  not run   something it needs is missing in this sandbox

Ends with 0 when every attack held, 1 when there is a hole, ${exitCode.unproven} when some are unproven or were not run,
${exitCode.notStarted} when no sandbox could be started.

Examples:
  sallyport redteam
  sallyport redteam --list
  sallyport redteam --only dns-tunnel git-force-push
  sallyport redteam --launcher unshare --json`,
    )
    .action(async (options: RedteamOptions, command: Command) => {
      const { attackList } = await import('../prove/redteam/attack-list.ts');
      if (options.list === true) {
        const known = attackList.map(({ name, area, tried }) => ({ name, area, tried }));
        if (wantsJson(command)) printJson(context, known);
        else for (const { name, area, tried } of known) context.print(`${area.padEnd(12)} ${name.padEnd(28)} ${tried}`);
        return;
      }
      const unknown = options.only?.find((name) => !attackList.some((attack) => attack.name === name));
      if (unknown !== undefined) {
        throw new CommandFailed(
          exitCode.usage,
          `there is no attack ${unknown}`,
          '`sallyport redteam --list` names them.',
        );
      }
      const chosen = attackList.filter(({ name }) => options.only?.includes(name) ?? true);
      await runAttacks(context, options, chosen, wantsJson(command));
    });
}

async function runAttacks(
  context: CliContext,
  options: RedteamOptions,
  attacks: readonly Attack[],
  asJson: boolean,
): Promise<void> {
  const { AttackRun } = await import('../prove/redteam/run-attacks.ts');
  const startedMs = performance.now();
  const interrupted = interruption();
  const progress = new ProgressLine(context);
  progress.show('preparing the gateway and the pretend internet');
  const { launcher, prepared } = await begin(context, options).finally(() => progress.clear());
  const results: AttackResult[] = [];
  try {
    const run = new AttackRun(prepared);
    for (const [i, attack] of attacks.entries()) {
      if (interrupted.signal.aborted) break;
      progress.show(`${i + 1}/${attacks.length} ${attack.name}`);
      const result = await run.make(attack);
      results.push(result);
      progress.clear();
      if (!asJson) context.print(describeResult(context, result));
    }
  } finally {
    progress.clear();
    await prepared.clear();
    interrupted.forget();
  }
  conclude(context, results, { launcher, asked: attacks.length, startedMs, asJson });
}

async function begin(
  { env }: CliContext,
  options: RedteamOptions,
): Promise<{ launcher: Launcher; prepared: PreparedGround }> {
  const { findLauncher } = await import('../sandbox/run/find-launcher.ts');
  const { prepareGround } = await import('../prove/redteam/prepare-ground.ts');
  const environment = { ...env };
  try {
    const launcher = await findLauncher({ wanted: options.launcher, image: options.image, environment });
    return { launcher, prepared: await prepareGround({ launcher, environment, startGateway: startQuietGateway }) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // No sandbox is not the same as a hole.
    const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
    throw new CommandFailed(exitCode.notStarted, `no sandbox could be started: ${error.message}`, hint);
  }
}

interface Conclusion {
  readonly launcher: Launcher;
  readonly asked: number;
  readonly startedMs: number;
  readonly asJson: boolean;
}

function conclude(context: CliContext, results: readonly AttackResult[], facts: Conclusion): void {
  const counts = countVerdicts(results);
  const seconds = Math.round((performance.now() - facts.startedMs) / 100) / 10;
  if (counts.hole > 0) context.exitCode = exitCode.failure;
  else if (counts.unproven + counts['not run'] > 0) context.exitCode = exitCode.unproven;
  const isWhole = results.length === facts.asked;
  // As shells say it of a command that was interrupted.
  if (!isWhole) context.exitCode = 130;
  const { name: launcher, notice } = facts.launcher;
  if (facts.asJson) {
    const ok = counts.held === facts.asked;
    printJson(context, { ok, launcher, notice, seconds, counts, attacks: results });
    return;
  }
  const { colors } = context;
  const parts = [
    colors.green(`${counts.held} held`),
    counts.hole === 0 ? 'no hole' : colors.red(`${counts.hole} ${counts.hole === 1 ? 'hole' : 'holes'}`),
    ...(counts.unproven === 0 ? [] : [colors.yellow(`${counts.unproven} unproven`)]),
    ...(counts['not run'] === 0 ? [] : [colors.yellow(`${counts['not run']} not run`)]),
  ];
  const made = isWhole ? String(facts.asked) : `interrupted: ${results.length} of ${facts.asked}`;
  context.print(`\n${made} attacks in a sandbox by ${launcher}: ${parts.join(', ')} (${seconds} s)`);
  for (const line of notice) context.print(`${colors.yellow('note')} ${printable(line)}`);
}

export function describeResult({ colors }: Pick<CliContext, 'colors'>, result: AttackResult): string {
  const paint = { held: colors.green, hole: colors.red, unproven: colors.yellow, 'not run': colors.yellow };
  const verdict = paint[result.verdict](result.verdict.toUpperCase().padEnd(8));
  return `${verdict} ${result.name.padEnd(27)} ${printable(result.tried)} ${colors.dim(`(${printable(result.evidence)})`)}`;
}
