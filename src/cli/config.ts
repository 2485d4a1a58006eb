// `sallyport config check`: reads a configuration as `up` would and says everything that is wrong with it at once,
// each with its place; `config approve`: says that one is the user's own that may be a sandbox's work; `config schema`: its
// shape, for editors. Starts nothing and needs no gateway.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CliContext } from './cli-context.ts';
import { credentialTroubles, lookAtCredentials, stateOfCredential } from './steps/credential-states.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addConfigCommand(program: Command, context: CliContext): void {
  const config = program
    .command('config')
    .summary('the configuration')
    .description('The configuration file.')
    .addHelpText(
      'after',
      '\nExamples:\n  sallyport config check\n  sallyport config approve\n  sallyport config schema > sallyport.schema.json',
    );
  config
    .command('check')
    .summary('list every error in the configuration')
    .description('Checks a configuration and prints every error at once as file:line:column: message.')
    .argument('[file]', 'the file (default: the one that `sallyport up` would use)')
    .option('--config <FILE>', 'the same, as other commands have it')
    .addHelpText('after', '\nExamples:\n  sallyport config check\n  sallyport config check ./sallyport.yaml --json')
    .action(async (file: string | undefined, { config }: { config?: string }, command: Command) => {
      if (file !== undefined && config !== undefined)
        throw new CommandFailed(exitCode.usage, 'two files are named', 'Name one: sallyport config check FILE');
      await checkConfig(context, file ?? config, wantsJson(command));
    });
  config
    .command('approve')
    .summary('confirm that a configuration is yours, if a sandbox could have written it')
    .description(
      'Confirms that a configuration is yours. Needed if it lies where a sandbox could write and was made, replaced or unguarded while one ran. Read it first. A running gateway then loads it at once.',
    )
    .argument('[file]', 'the file (default: the one that `sallyport up` would use)')
    .addHelpText('after', '\nExamples:\n  sallyport config approve\n  sallyport config approve ./sallyport.yaml')
    .action(async (file: string | undefined) => approve(context, file));
  config
    .command('schema')
    .summary('print its JSON Schema, for editors')
    .description(
      'Prints the JSON Schema (draft 7) of sallyport.yaml: every key with a sentence, for editors to complete and check.',
    )
    .addHelpText(
      'after',
      `
Examples:
  sallyport config schema > sallyport.schema.json
  (then, as the first line of sallyport.yaml:)
  # yaml-language-server: $schema=./sallyport.schema.json`,
    )
    .action(async () => {
      const { policyJsonSchema } = await import('../policy/schema/json-schema.ts');
      printJson(context, policyJsonSchema());
    });
}

async function approve(context: CliContext, named: string | undefined): Promise<void> {
  const [{ findConfigFile }, { approveConfig, doubtOf }, { noteFollowed }, { thisMachine }] = await Promise.all([
    import('../policy/load/load-policy.ts'),
    import('../sandbox/traps/written-folders.ts'),
    import('../sandbox/traps/followed-text.ts'),
    import('../policy/load/machine-files.ts'),
  ]);
  const { env, cwd, places } = context;
  const file = findConfigFile({ flag: named, env, cwd, home: thisMachine(env).home });
  if (file === null || !existsSync(file))
    throw new CommandFailed(exitCode.usage, `there is no configuration ${file ?? 'here'}`, 'Name the file.');
  const doubt = doubtOf(places.home, file);
  if (doubt === null) return context.print(`${printable(file)} needs no approval: no sandbox could have written it.`);
  // Between the reading and the word it could be another one.
  if (doubt.isStillWritable) throw new CommandFailed(exitCode.failure, doubt.what, doubt.hint);
  approveConfig(places.home, file);
  noteFollowed(places.home, file);
  context.print(`${context.colors.green('approved')} ${printable(file)}: a gateway that uses it loads it again.`);
}

async function checkConfig(context: CliContext, file: string | undefined, json: boolean): Promise<void> {
  // Loaded only here: the other commands need neither the YAML parser nor the schema.
  const [{ findConfigFile, loadPolicy }, { formatPolicyError }, { thisMachine }] = await Promise.all([
    import('../policy/load/load-policy.ts'),
    import('../policy/schema/policy-error.ts'),
    import('../policy/load/machine-files.ts'),
  ]);
  const machine = thisMachine();
  const flag = file === undefined ? undefined : resolve(context.cwd, file);
  const path = findConfigFile({ flag, env: context.env, cwd: context.cwd, home: machine.home });
  const result = await loadPolicy(path, machine);
  if (!result.ok) {
    context.exitCode = exitCode.usage;
    if (json) return printJson(context, { ok: false, errors: result.errors });
    for (const error of result.errors) context.print(printable(formatPolicyError(error)));
    const count = result.errors.length;
    return context.say(`${count} ${count === 1 ? 'error' : 'errors'}: this configuration would be refused.`);
  }
  const { policy } = result;
  const { doubtOf } = await import('../sandbox/traps/written-folders.ts');
  const doubt = path === null ? null : doubtOf(context.places.home, path);
  const credentials = await lookAtCredentials(context, policy);
  const troubles = credentialTroubles(credentials);
  if (json) {
    const states = credentials.map((one) => ({
      ...{ name: one.name, source: one.source, state: stateOfCredential(one), error: one.error ?? null },
    }));
    const { origin: config, warnings } = policy;
    return printJson(context, { ok: true, config, warnings, credentials: states, doubt: doubt?.message ?? null });
  }
  for (const warning of policy.warnings) context.say(`${context.colors.yellow('warning')} ${printable(warning)}`);
  for (const trouble of troubles) context.say(`${context.colors.yellow('problem')} ${trouble}`);
  if (doubt !== null) context.say(`${context.colors.yellow('not followed yet')} ${printable(doubt.message)}`);
  const unusable = troubles.length === 0 ? '' : `, ${troubles.length} with a problem`;
  context.print(
    `${context.colors.green('ok')} ${printable(policy.origin)}: ${policy.allow.length} allow rules, ${policy.credentials.size} credentials${unusable}`,
  );
}
