// `sallyport demo`: one screen that shows what this is for. Needs no internet and no key: a real sandbox and a real gateway,
// with pretend providers on this machine. Shows only what happened; what did not happen as it should ends it with 1.

import { type Command, Option } from 'commander';
import type { AdminPorts } from '../gateway/admin/admin-ports.ts';
import { shortened } from '../kit/text/unseen.ts';
import type { DemoResult } from '../prove/demo/run-demo.ts';
import type { LauncherName } from '../sandbox/run/sandbox-plan.ts';
import type { CliContext } from './cli-context.ts';
import { interruption, rememberGateway } from './steps/quiet-gateway.ts';
import { exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { ProgressLine } from './terminal/progress-line.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface DemoOptions {
  readonly launcher?: LauncherName;
}

/** One screen. */
const width = 100;

export function addDemoCommand(program: Command, context: CliContext): void {
  program
    .command('demo')
    .summary('see it work, without internet and without a key')
    .description(
      'Starts pretend providers on this machine, a gateway and a real sandbox, and shows a request that worked with a key ' +
        'the sandbox never held, and six that were refused. Needs git, no internet and no key.',
    )
    .addOption(
      new Option(
        '--launcher <NAME>',
        'how the sandbox is isolated (default: bubblewrap, or namespaces without it)',
      ).choices(['bubblewrap', 'namespaces', 'unshare']),
    )
    .addHelpText('after', '\nExamples:\n  sallyport demo\n  sallyport demo --json')
    .action(async (options: DemoOptions, command: Command) => {
      const startedMs = performance.now();
      const { launcher, ...result } = await show(context, options);
      const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
      if (result.problems.length > 0) context.exitCode = exitCode.failure;
      if (wantsJson(command)) {
        printJson(context, { ok: result.problems.length === 0, launcher, seconds, ...result });
        return;
      }
      context.print(describeDemo(context, result, { launcher, seconds }));
    });
}

async function show(
  context: CliContext,
  options: DemoOptions,
): Promise<DemoResult & { readonly launcher: LauncherName }> {
  const { findLauncher } = await import('../sandbox/run/find-launcher.ts');
  const { runDemo } = await import('../prove/demo/run-demo.ts');
  const environment = { ...context.env };
  const launcher = await findLauncher({ wanted: options.launcher, environment });
  const progress = new ProgressLine(context);
  const interrupted = interruption();
  const gateway = rememberGateway();
  try {
    const result = await runDemo({
      launcher,
      environment,
      signal: interrupted.signal,
      onProgress: (text) => progress.show(text),
      startGateway: gateway.start,
      refusals: () => refusalsOf(gateway.admin()),
    });
    return { ...result, launcher: launcher.name };
  } finally {
    progress.clear();
    interrupted.forget();
  }
}

async function refusalsOf(admin: AdminPorts): Promise<string[]> {
  const codes: string[] = [];
  const filter = { sandbox: null, refusedOnly: true, limit: 1_000, follow: false };
  for await (const record of admin.audit({ ...filter, signal: new AbortController().signal }))
    if ('code' in record) codes.push(String(record.code));
  return codes;
}

export function describeDemo(
  { colors }: Pick<CliContext, 'colors'>,
  { worked, refused, problems, sandboxMs }: DemoResult,
  facts: { readonly launcher: string; readonly seconds: number },
): string {
  // Cut to the screen before colours, which have no width.
  const cut = (text: string, room: number): string => shortened(printable(text), room);
  const fact = (name: string, text: string): string => `  ${colors.dim(name.padEnd(14))} ${cut(text, width - 17)}`;
  const lines = [
    `${colors.bold('Sallyport')}  a real sandbox (${facts.launcher}) and a real gateway; only the providers are pretended`,
    '',
    `${colors.green('worked')}   ${cut(worked.asked, width - 9)}`,
    fact('sandbox holds', worked.sandboxHolds),
    fact('provider got', worked.providerGot),
    fact('it answered', `${worked.status ?? 'nothing'}  ${worked.answer}`),
    fact('key file there', worked.keyFileRead),
    '',
  ];
  for (const { tried, about, words } of refused) {
    const what = cut(tried, 52).padEnd(52);
    lines.push(`${colors.red('refused')}  ${what}  ${colors.dim(cut(about, width - 63))}`.trimEnd());
    lines.push(`         ${cut(words, width - 9)}`);
  }
  lines.push('');
  if (problems.length === 0) {
    lines.push(
      colors.dim(`None of the six reached a provider. ${facts.seconds} s, of which ${sandboxMs} ms in the sandbox.`),
      `Next: ${colors.bold('sallyport run -- claude')}   (attack it: sallyport redteam; check this machine: sallyport doctor)`,
    );
  } else {
    lines.push(colors.red('SOMETHING IS WRONG: do not rely on what is shown above.'));
    for (const problem of problems) lines.push(`  ${problem.split('\n').map(printable).join('\n  ')}`);
    lines.push('Find out more: sallyport doctor');
  }
  return lines.join('\n');
}
