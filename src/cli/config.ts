// `sallyport config check`: reads a configuration as `up` would and says everything that is wrong with it at once,
// each with its place. Starts nothing and needs no gateway.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CliContext } from './cli-context.ts';
import { exitCode } from './exit-code.ts';
import { printable } from './printable.ts';
import { printJson, wantsJson } from './wants-json.ts';

export function addConfigCommand(program: Command, context: CliContext): void {
  const config = program
    .command('config')
    .summary('the configuration')
    .description('The configuration file.')
    .addHelpText('after', '\nExamples:\n  sallyport config check');
  config
    .command('check')
    .summary('say everything that is wrong with it')
    .description('Checks a configuration and prints every error at once as file:line:column: message.')
    .argument('[file]', 'the file (default: the one that `sallyport up` would use)')
    .addHelpText('after', '\nExamples:\n  sallyport config check\n  sallyport config check ./sallyport.yaml --json')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      await checkConfig(context, file, wantsJson(command));
    });
}

async function checkConfig(context: CliContext, file: string | undefined, json: boolean): Promise<void> {
  // Loaded only here: the other commands need neither the YAML parser nor the schema.
  const [{ findConfigFile, loadPolicy }, { formatPolicyError }, { thisMachine }] = await Promise.all([
    import('../policy/load-policy.ts'),
    import('../policy/policy-error.ts'),
    import('../policy/machine-files.ts'),
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
  if (json) return printJson(context, { ok: true, config: policy.origin, warnings: policy.warnings });
  for (const warning of policy.warnings) context.say(`${context.colors.yellow('warning')} ${printable(warning)}`);
  context.print(
    `${context.colors.green('ok')} ${printable(policy.origin)}: ${policy.allow.length} allow rules, ${policy.credentials.size} credentials`,
  );
}
