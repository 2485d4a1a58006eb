// `sallyport firewall`: the rules of the host for a sandbox network. `print` shows exactly what `apply` loads; `remove`
// takes away what `apply` put there, and nothing else on the host is changed by either.
import type { Command } from 'commander';
import type { Standing } from '../sandbox/firewall/apply-firewall.ts';
import type { Ruleset } from '../sandbox/firewall/ruleset.ts';
import type { CliContext } from './cli-context.ts';
import {
  addNetworkOptions,
  type FirewallOptions,
  type SurveyedFirewall,
  surveyFirewall,
} from './steps/firewall-survey.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { columns, printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addFirewallCommand(program: Command, context: CliContext): void {
  const firewall = program
    .command('firewall')
    .summary('firewall rules on this host for a sandbox network')
    .description('nftables rules that leave the sandboxes of a network no way out but the gateway. Needs root.')
    .addHelpText('after', '\nExamples:\n  sudo sallyport firewall apply --network sandbox --gateway-container gateway');
  addPrint(firewall, context);
  addApply(firewall, context);
  addStatus(firewall, context);
  addRemove(firewall, context);
}

function addPrint(firewall: Command, context: CliContext): void {
  addNetworkOptions(
    firewall
      .command('print')
      .summary('show the ruleset')
      .description('Prints the ruleset as `apply` would load it. Changes nothing.'),
  )
    .addHelpText('after', '\nExamples:\n  sudo sallyport firewall print --network sandbox --gateway-container gateway')
    .action(async (options: FirewallOptions, command: Command) => {
      const { ruleset, notes } = await (await surveyFirewall(context, options)).now();
      tellNotes(context, notes);
      if (!wantsJson(command)) return context.print(ruleset.text.trimEnd());
      printJson(context, { table: ruleset.table, sha256: ruleset.checksum, text: ruleset.text, notes });
    });
}

function addApply(firewall: Command, context: CliContext): void {
  addNetworkOptions(
    firewall
      .command('apply')
      .summary('put the ruleset in force')
      .description('Loads the ruleset and checks that it is in force. Run again, it changes only what differs.'),
  )
    .option('--watch', 'keep running, and follow changes of the registrations')
    .addHelpText(
      'after',
      `
Examples:
  sudo sallyport firewall apply --network sandbox --gateway-container gateway --watch
  sudo sallyport firewall apply --bridge br0 --gateway 172.30.0.1 --pin 172.30.0.5=02:42:ac:1e:00:05@veth1a2b3c`,
    )
    .action(async (options: FirewallOptions & { watch?: boolean }, command: Command) => {
      const { applyFirewall } = await import('../sandbox/firewall/apply-firewall.ts');
      const survey = await surveyFirewall(context, options);
      const { ruleset, notes, pins } = await survey.now();
      tellNotes(context, notes);
      const found = await applyFirewall(ruleset);
      const changes = found.kind === 'tampered' ? found.changes : [];
      if (wantsJson(command)) {
        printJson(context, { table: ruleset.table, sha256: ruleset.checksum, found: found.kind, changes, pins, notes });
      } else context.print(describeApplied(context, found, ruleset, pins.length));
      if (options.watch === true) await watch(context, survey);
    });
}

function addStatus(firewall: Command, context: CliContext): void {
  addNetworkOptions(
    firewall
      .command('status')
      .summary('is it in force, and what has it refused')
      .description('Compares what is in force with what `apply` would load. Exit 1 when they differ. Changes nothing.'),
  )
    .addHelpText('after', '\nExamples:\n  sudo sallyport firewall status --network sandbox --gateway-container gateway')
    .action(async (options: FirewallOptions, command: Command) => {
      const { countRefusals, judgeFirewall } = await import('../sandbox/firewall/apply-firewall.ts');
      const { ruleset, notes } = await (await surveyFirewall(context, options)).now();
      tellNotes(context, notes);
      const found = await judgeFirewall(ruleset);
      const refused = found.kind === 'absent' ? [] : await countRefusals(ruleset.table);
      if (found.kind !== 'in-force') context.exitCode = exitCode.failure;
      if (wantsJson(command)) {
        const changes = found.kind === 'tampered' ? found.changes : [];
        return printJson(context, {
          table: ruleset.table,
          sha256: ruleset.checksum,
          found: found.kind,
          changes,
          refused,
          notes,
        });
      }
      context.print(describeStanding(context, found));
      const rows = refused.map(({ packets, comment }) => [String(packets), printable(comment)]);
      if (rows.length > 0) context.print(['', ...columns(['REFUSED', 'BECAUSE'], rows)].join('\n'));
    });
}

function addRemove(firewall: Command, context: CliContext): void {
  firewall
    .command('remove')
    .summary('take it away')
    .description('Removes the tables that `apply` made, and says which. Nothing else on the host is touched.')
    .option('--network <NAME>', 'the Docker network')
    .option('--bridge <NAME>', 'or the bridge of the host')
    .option('--all', 'for every network')
    .option('--docker <SOCKET>', 'the Docker socket (default: /var/run/docker.sock)')
    .addHelpText(
      'after',
      '\nExamples:\n  sudo sallyport firewall remove --network sandbox\n  sudo sallyport firewall remove --all',
    )
    .action(
      async (options: { network?: string; bridge?: string; all?: boolean; docker?: string }, command: Command) => {
        const removed = await remove(options);
        if (wantsJson(command)) return printJson(context, { removed });
        if (removed.length === 0) return context.print('There was nothing to remove.');
        for (const table of removed) context.print(`${context.colors.green('Removed')} ${printable(table)}`);
      },
    );
}

async function remove(options: {
  network?: string;
  bridge?: string;
  all?: boolean;
  docker?: string;
}): Promise<string[]> {
  const { findFirewalls, removeFirewall } = await import('../sandbox/firewall/apply-firewall.ts');
  const { findBridge } = await import('../sandbox/firewall/plan-firewall.ts');
  const { tableName } = await import('../sandbox/firewall/firewall-plan.ts');
  const { DockerApi } = await import('../kit/docker/docker-api.ts');
  if (options.all === true && (options.network !== undefined || options.bridge !== undefined)) {
    throw new CommandFailed(exitCode.usage, 'which one: --all, or the named network?');
  }
  const tables =
    options.all === true
      ? await findFirewalls()
      : [tableName(await findBridge(options, new DockerApi(options.docker ?? '/var/run/docker.sock')))];
  const removed: string[] = [];
  for (const table of tables) removed.push(...(await removeFirewall(table)));
  return removed;
}

async function watch(context: CliContext, survey: SurveyedFirewall): Promise<void> {
  const { watchFirewall } = await import('../sandbox/firewall/watch-firewall.ts');
  const stop = new AbortController();
  const end = (): void => stop.abort();
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  let told = '';
  await watchFirewall({
    signal: stop.signal,
    async ruleset() {
      const { ruleset, notes } = await survey.now();
      if (notes.join('\n') !== told) tellNotes(context, notes);
      told = notes.join('\n');
      return ruleset;
    },
    changed: (found, ruleset) => context.say(describeChange(found, ruleset)),
    failed: (error) =>
      context.say(`What is in force stays as it is: ${printable(error instanceof Error ? error.message : error)}`),
  });
  process.removeListener('SIGTERM', end);
  process.removeListener('SIGINT', end);
  context.say('Changes are no longer followed. The rules stay in force: `sallyport firewall remove` removes them.');
}

function tellNotes(context: CliContext, notes: readonly string[]): void {
  for (const note of notes) context.say(`${context.colors.yellow('note')} ${printable(note)}`);
}

function describeApplied(context: CliContext, found: Standing, { table, checksum }: Ruleset, pins: number): string {
  const { colors } = context;
  const words: Readonly<Record<Standing['kind'], string>> = {
    'in-force': 'Already in force',
    absent: 'In force',
    'other-members': 'In force, with other members than before',
    'other-plan': 'In force; it replaced other rules of Sallyport',
    tampered: 'In force again: it had been changed by hand',
  };
  const lines = [`${colors.green(words[found.kind])}: table bridge ${table} and table inet ${table}`];
  if (found.kind === 'tampered')
    lines.push(...found.changes.map((change) => `  ${colors.yellow('restored')} ${printable(change)}`));
  return [
    ...lines,
    `  sha256 ${checksum}`,
    `  ${pins} sandbox ${pins === 1 ? 'address' : 'addresses'} may speak, to the gateway alone`,
  ].join('\n');
}

function describeStanding({ colors }: CliContext, found: Standing): string {
  switch (found.kind) {
    case 'in-force':
      return colors.green('In force');
    case 'absent':
      return colors.red('Not in force: there are no such tables');
    case 'other-members':
      return colors.red('In force for other members of the network: apply it again, or use apply --watch');
    case 'other-plan':
      return colors.red('Rules of another plan are in force: apply it again');
    case 'tampered':
      return [
        colors.red('Changed by hand: apply it again'),
        ...found.changes.map((change) => `  ${printable(change)}`),
      ].join('\n');
  }
}

function describeChange(found: Standing, { table }: Ruleset): string {
  if (found.kind === 'other-members') return `${table}: other members now`;
  if (found.kind === 'tampered')
    return `${table}: had been changed by hand, restored: ${found.changes.map(printable).join('; ')}`;
  return found.kind === 'absent'
    ? `${table}: was gone, restored`
    : `${table}: replaced, the network or the gateway has changed`;
}
