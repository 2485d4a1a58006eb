// `sallyport check`: asks the running gateway whether a request would pass, by which rule and with which credential.
// The decision is the path's own; nothing is sent to the upstream.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { CheckResult } from '../gateway/admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { joined, printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface CheckOptions {
  readonly sandbox?: string;
  readonly header?: Record<string, string[]>;
  readonly body?: string;
}

export function addCheckCommand(program: Command, context: CliContext): void {
  program
    .command('check')
    .summary('would this request pass?')
    .description(
      'Says whether a request would pass, by which rule and with which credential. Sends nothing. If the body decides and you do not give it, the answer is: undecided.',
    )
    .argument('<method>', 'GET, POST …')
    .argument('<url>', 'the whole URL')
    .option('--sandbox <ID>', 'as this sandbox (default: one with no repository and every credential)')
    .option('--header <FIELD>', 'a header field, "Name: value"; may be repeated', gatherHeader)
    .option('--body <FILE>', 'the body, from a file')
    .addHelpText(
      'after',
      `
Examples:
  sallyport check GET https://api.anthropic.com/v1/models
  sallyport check DELETE https://api.github.com/repos/o/r --sandbox sbx_4f1c
  sallyport check POST https://api.github.com/graphql --body query.json && echo allowed`,
    )
    .action(async (method: string, url: string, options: CheckOptions, command: Command) => {
      const result = await context.admin.call<CheckResult>('POST', '/internal/check', {
        ...(options.sandbox !== undefined && { sandbox: options.sandbox }),
        method: method.toUpperCase(),
        url,
        ...(options.header !== undefined && { headers: options.header }),
        ...(options.body !== undefined && { body: readBody(options.body) }),
      });
      context.exitCode = result.allowed ? exitCode.ok : isOpen(result) ? exitCode.undecided : exitCode.refused;
      if (wantsJson(command)) printJson(context, result);
      else describe(context, result);
    });
}

/** The door would decide by a body that was not given. */
function isOpen({ code }: CheckResult): boolean {
  return code === 'undecided';
}

function verdict({ colors }: CliContext, result: CheckResult): string {
  if (result.allowed) return colors.green('allowed');
  if (isOpen(result)) return colors.yellow('undecided');
  return `${colors.red('refused')} with ${result.status} ${printable(result.code)}`;
}

function describe(context: CliContext, result: CheckResult): void {
  const lines = [verdict(context, result), `  rule        ${joined(result.rule)}`];
  if (!result.allowed && result.reason !== '') lines.push(`  reason      ${printable(result.reason)}`);
  if (result.allowed) lines.push(`  credential  ${result.credential === null ? 'none' : printable(result.credential)}`);
  if (result.hint !== '')
    lines.push(`  hint        ${result.hint.split('\n').map(printable).join('\n              ')}`);
  context.print(lines.join('\n'));
}

function gatherHeader(field: string, before: Record<string, string[]> | undefined): Record<string, string[]> {
  const colon = field.indexOf(':');
  if (colon <= 0) throw new InvalidArgumentError('Write it as "Name: value".');
  const name = field.slice(0, colon).trim();
  return { ...before, [name]: [...(before?.[name] ?? []), field.slice(colon + 1).trim()] };
}

function readBody(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandFailed(
      exitCode.usage,
      `the body cannot be read: ${error instanceof Error ? error.message : path}`,
    );
  }
}
