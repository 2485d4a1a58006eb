// `sallyport policy`: the policy as code. `test` runs a team's cases, `explain` says in sentences what a sandbox may do. Neither
// changes anything.
import { type Command, Option } from 'commander';
import { canonicalRepositoryPattern } from '../kit/text/repository-name.ts';
import type { PolicySection } from '../policy/explain/explain-policy.ts';
import type { CliContext } from './cli-context.ts';
import { type PolicyTestOptions, testPolicy } from './policy-test.ts';
import { gather, type RightsOptions } from './steps/rights-options.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addPolicyCommand(program: Command, context: CliContext): void {
  const policy = program
    .command('policy')
    .summary('test and explain the policy')
    .description('The policy as code: test it, and have it explained.')
    .addHelpText('after', '\nExamples:\n  sallyport policy test policy-tests.yaml\n  sallyport policy explain');
  addTest(policy, context);
  addExplain(policy, context);
}

function addTest(policy: Command, context: CliContext): void {
  policy
    .command('test')
    .summary('run cases against the policy')
    .description(
      'Runs cases (a request or a push, and the verdict it must get) against a policy, with the code that decides at the door. ' +
        'Needs no gateway, no credential and no network. Exit 0: all passed; 1: some failed; 2: an error in a file.',
    )
    .argument('<files...>', 'files with cases (docs/policy-as-code.md)')
    .option('--config <FILE>', 'the policy to test (default: what a file names, else the one `sallyport up` would use)')
    .addHelpText(
      'after',
      `
Examples:
  sallyport policy test policy-tests.yaml
  sallyport policy test --config sallyport.yaml tests/*.yaml
  sallyport policy test policy-tests.yaml --json`,
    )
    .action(async (files: string[], options: PolicyTestOptions, command: Command) => {
      await testPolicy(context, files, options, wantsJson(command));
    });
}

interface ExplainFlags extends RightsOptions {
  readonly config?: string;
  readonly sandbox?: string;
  readonly full?: boolean;
}

function addExplain(policy: Command, context: CliContext): void {
  policy
    .command('explain')
    .summary('say in sentences what a sandbox may do')
    .description(
      'Says in sentences what the policy lets a sandbox do, what it refuses and what it asks a person about.',
    )
    .option('--config <FILE>', 'the policy to explain (default: the one `sallyport up` would use)')
    .option('--sandbox <ID>', 'for this sandbox of the running gateway')
    .option('--repo <OWNER/REPO>', 'for a sandbox with this repository; may be repeated', gather)
    .addOption(new Option('--mode <MODE>', 'for a sandbox of this mode (default bot)').choices(['bot', 'user']))
    .option('--branch <PATTERN>', 'for a bot that may push here (default sandbox/*); may be repeated', gather)
    .option('--credential <NAME>', 'for a sandbox with this credential (default: all); may be repeated', gather)
    .option('--full', 'every name of a long list, and every refused effect in words')
    .addHelpText(
      'after',
      `
Examples:
  sallyport policy explain
  sallyport policy explain --repo acme/widgets --mode user
  sallyport policy explain --sandbox sbx_4f1c --json`,
    )
    .action(async (options: ExplainFlags, command: Command) => {
      const sections =
        options.sandbox === undefined ? await ofFile(context, options) : await ofSandbox(context, options);
      if (wantsJson(command)) return printJson(context, { sections });
      for (const [i, { title, sentences }] of sections.entries()) {
        if (i > 0) context.print('');
        context.print(context.colors.bold(title));
        for (const sentence of sentences) for (const line of folded(printable(sentence))) context.print(line);
      }
    });
}

async function ofSandbox(context: CliContext, options: ExplainFlags): Promise<readonly PolicySection[]> {
  const { sandbox = '', full, ...others } = options;
  const given = Object.keys(others).filter((key) => key !== 'sandbox');
  if (given.length > 0) {
    const message = `--sandbox asks the running gateway, which knows what it may do: leave out --${given.join(', --')}`;
    throw new CommandFailed(exitCode.usage, message);
  }
  const path = `/internal/containers/${encodeURIComponent(sandbox)}/policy${full ? '?full=true' : ''}`;
  const { sections } = await context.admin.call<{ sections: readonly PolicySection[] }>('GET', path);
  return sections;
}

async function ofFile(context: CliContext, options: ExplainFlags): Promise<readonly PolicySection[]> {
  const [{ findConfigFile, loadPolicy }, { formatPolicyError }, { thisMachine }, { explainPolicy }] = await Promise.all(
    [
      import('../policy/load/load-policy.ts'),
      import('../policy/schema/policy-error.ts'),
      import('../policy/load/machine-files.ts'),
      import('../policy/explain/explain-policy.ts'),
    ],
  );
  const machine = thisMachine();
  const place = findConfigFile({ flag: options.config, env: context.env, cwd: context.cwd, home: machine.home });
  const result = await loadPolicy(place, machine);
  if (!result.ok) {
    const errors = result.errors.map((error) => printable(formatPolicyError(error)));
    throw new CommandFailed(exitCode.usage, `the configuration is not valid:\n${errors.join('\n')}`);
  }
  const unknown = (options.credential ?? []).find((name) => !result.policy.credentials.has(name));
  if (unknown !== undefined) {
    throw new CommandFailed(exitCode.usage, `the policy has no credential ${printable(unknown)}`);
  }
  const sandbox = {
    repos: (options.repo ?? []).map(asRepository),
    authMode: options.mode === 'user' ? 'user' : 'bot',
    allowedBranches: options.branch ?? ['sandbox/*'],
    credentials: options.credential ?? null,
  } as const;
  const sections = explainPolicy(result.policy, sandbox, { audience: 'operator', full: options.full ?? false });
  return [{ title: 'Policy', sentences: [`${result.policy.origin}.`] }, ...sections];
}

/** A name that no registration could have would be explained as if it had rights. */
function asRepository(text: string): string {
  const name = canonicalRepositoryPattern(text);
  if (name !== null) return name;
  throw new CommandFailed(exitCode.usage, `${printable(text)} is no repository: write it as owner/name`);
}

const width = 100;

/** As an entry of a list, folded between words. */
function folded(sentence: string): string[] {
  const lines: string[] = [];
  let line = '  -';
  for (const word of sentence.split(' ')) {
    if (line.length + 1 + word.length > width && line.trim().length > 1) {
      lines.push(line);
      line = '   ';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
