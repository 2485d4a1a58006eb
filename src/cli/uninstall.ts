// `sallyport uninstall`: undoes what was put on this host. Says all of it first and asks; removes nothing that is not ours,
// and tells what it leaves and what to do about that.
import type { Command } from 'commander';
import type { Found, KeptItem, Removable } from '../sandbox/uninstall/uninstall-item.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface UninstallOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly keepJournal?: boolean;
  readonly docker?: boolean;
}

interface Failure {
  readonly what: string;
  readonly why: string;
  readonly how: string;
}

export function addUninstallCommand(program: Command, context: CliContext): void {
  program
    .command('uninstall')
    .summary('undo everything that was put on this host')
    .description(
      'Removes the state directory with the CA, registrations and journal, your configuration, the firewall rules (as root) ' +
        'and, with --docker, what was made in Docker. Lists everything first, and asks. Needs a stopped gateway.',
    )
    .option('--yes', 'do not ask')
    .option('--dry-run', 'only say what would be removed')
    .option('--keep-journal', 'leave the journal where it is')
    .option('--docker', 'also containers, networks, volumes and images with our label')
    .addHelpText(
      'after',
      `
What is not removed: the clone or package itself, a sallyport.yaml in a project, images and volumes of your own.

Examples:
  sallyport uninstall --dry-run
  sallyport uninstall --keep-journal
  sudo sallyport uninstall --yes --docker`,
    )
    .action(async (options: UninstallOptions, command: Command) => {
      await uninstall(context, options, wantsJson(command));
    });
}

async function uninstall(context: CliContext, options: UninstallOptions, json: boolean): Promise<void> {
  const { dryRun = false, yes = false } = options;
  const asks = !yes && !dryRun;
  if (asks && !(context.isTerminal && context.stdin.isTTY === true)) {
    throw new CommandFailed(
      exitCode.usage,
      'uninstall asks before it removes anything, and nobody is at a terminal here',
      'Look first: sallyport uninstall --dry-run. Then: sallyport uninstall --yes',
    );
  }
  const { checkUnused, holdState } = await import('../sandbox/uninstall/uninstall-in-use.ts');
  const host = await findOnHost(context, options);
  const hasState = host.removable.some(({ kind }) => kind === 'state');
  // The gateway of a service uses it until the service is removed.
  const isServed = host.removable.some(({ kind }) => kind === 'service');
  if (hasState && !isServed) await checkUnused(context.places);
  const docker = await findDocker(context, options, asks);
  const kept = [...host.kept, ...docker.kept];
  let chosen: readonly Removable[] = [...host.removable, ...docker.removable];
  if (dryRun) {
    if (json)
      return printJson(context, { dry_run: true, would_remove: chosen.map(shown), removed: [], failed: [], kept });
    context.print(describePlan(context, 'Would be removed:', chosen, kept));
    return;
  }
  if (asks) {
    context.say(describePlan(context, 'This will be removed, for good:', host.removable, kept));
    chosen = (await asked(context, host.removable, 'Remove all this?')) ? host.removable : [];
    if (docker.removable.length > 0) {
      context.say(describePlan(context, 'In Docker:', docker.removable, []));
      if (await asked(context, docker.removable, 'Remove this from Docker too?'))
        chosen = [...chosen, ...docker.removable];
    }
    if (chosen.length === 0 && host.removable.length + docker.removable.length > 0)
      throw new CommandFailed(exitCode.failure, 'nothing was removed');
  }
  const service = chosen.filter(({ kind }) => kind === 'service');
  for (const item of service) await item.remove();
  const letGo = hasState && chosen.some(({ kind }) => kind === 'state') ? await holdState(context.places) : () => {};
  const removed: Removable[] = [...service];
  const failed: Failure[] = [];
  try {
    for (const item of chosen.filter((one) => !service.includes(one))) {
      try {
        await item.remove();
        removed.push(item);
      } catch (error) {
        failed.push({ what: item.what, why: error instanceof Error ? error.message : String(error), how: item.how });
      }
    }
  } finally {
    letGo();
  }
  if (failed.length > 0) context.exitCode = exitCode.failure;
  if (json) return printJson(context, { dry_run: false, removed: removed.map(shown), failed, kept });
  context.print(describeOutcome(context, removed, failed, kept));
}

async function findOnHost(context: CliContext, options: UninstallOptions): Promise<Found> {
  const { findState } = await import('../sandbox/uninstall/uninstall-state.ts');
  const { findService } = await import('../sandbox/uninstall/uninstall-service.ts');
  const { findConfiguration, findTrustedCas } = await import('../sandbox/uninstall/uninstall-config.ts');
  const { findRules } = await import('../sandbox/uninstall/uninstall-rules.ts');
  const { readMark } = await import('../sandbox/firewall/ruleset.ts');
  const { homedir } = await import('node:os');
  const { env, cwd, places } = context;
  const userHome = env.HOME || homedir();
  const parts = [
    findService({ env, userHome }),
    findState({ places, userHome, keepJournal: options.keepJournal === true }),
    findConfiguration({ env, cwd, userHome }),
    await findRules({ env, isMark: (comment) => readMark(comment) !== null }),
    { removable: [], kept: findTrustedCas() },
  ];
  return { removable: parts.flatMap(({ removable }) => removable), kept: parts.flatMap(({ kept }) => kept) };
}

/** Asked for by the option, or by the question at a terminal; there a Docker that does not answer is no failure. */
async function findDocker(context: CliContext, options: UninstallOptions, asks: boolean): Promise<Found> {
  const wanted = options.docker === true;
  const unseen = { what: 'Docker', why: 'was not looked at', how: 'Where it was used: sallyport uninstall --docker' };
  if (!wanted && !asks) return { removable: [], kept: [unseen] };
  const { findInDocker } = await import('../sandbox/uninstall/uninstall-docker.ts');
  try {
    return await findInDocker({ environment: context.env });
  } catch (error) {
    if (wanted) {
      const why = error instanceof Error ? error.message : String(error);
      const hint = 'Nothing was removed. Start the Docker daemon, or leave --docker out.';
      throw new CommandFailed(exitCode.failure, why, hint);
    }
    return { removable: [], kept: [unseen] };
  }
}

async function asked(context: CliContext, items: readonly Removable[], question: string): Promise<boolean> {
  if (items.length === 0) return false;
  const { createInterface } = await import('node:readline');
  context.say(`${question} [y/N]`);
  const reader = createInterface({ input: context.stdin, terminal: false });
  const answer = await new Promise<string>((resolve) => {
    reader.once('line', resolve);
    reader.once('close', () => resolve(''));
  });
  reader.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

function shown({ kind, what }: Removable): object {
  return { kind, what };
}

export function describePlan(
  { colors }: Pick<CliContext, 'colors'>,
  title: string,
  items: readonly Removable[],
  kept: readonly KeptItem[],
): string {
  const lines = items.length === 0 ? ['There is nothing of Sallyport to remove here.'] : [colors.bold(title)];
  for (const { what, detail } of items) lines.push(`  ${printable(what)}  ${colors.dim(printable(detail))}`);
  return [...lines, ...describeKept(kept)].join('\n');
}

function describeOutcome(
  { colors }: Pick<CliContext, 'colors'>,
  removed: readonly Removable[],
  failed: readonly Failure[],
  kept: readonly KeptItem[],
): string {
  const lines = removed.map(({ what }) => `${colors.green('removed')}  ${printable(what)}`);
  if (lines.length === 0 && failed.length === 0) lines.push('There was nothing of Sallyport to remove here.');
  for (const { what, why, how } of failed)
    lines.push(`${colors.red('LEFT')}     ${printable(what)}: ${printable(why)}`, `         ${printable(how)}`);
  return [...lines, ...describeKept(kept)].join('\n');
}

function describeKept(kept: readonly KeptItem[]): string[] {
  if (kept.length === 0) return [];
  const lines = kept.flatMap(({ what, why, how }) => {
    return [`  ${printable(what)} ${printable(why)}`, ...(how === '' ? [] : [`    ${printable(how)}`])];
  });
  return ['', 'Not touched:', ...lines];
}
