// `sallyport check`: asks the running gateway, or a configuration, whether a request would pass, by which rule and with which
// credential.
// The decision is the path's own; nothing is sent to the upstream.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { GatewayUnreachable } from '../gateway/admin/admin-client.ts';
import type { CheckResult } from '../gateway/admin/admin-ports.ts';
import { plainTarget } from '../kit/text/plain-target.ts';
import type { CliContext } from './cli-context.ts';
import type { AskedRequest } from './steps/check-configuration.ts';
import { aboutOthers, configNobodyFollows } from './steps/config-here.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { joined, printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface CheckOptions {
  readonly sandbox?: string;
  readonly header?: Record<string, string[]>;
  readonly body?: string;
  readonly config?: string;
}

export function addCheckCommand(program: Command, context: CliContext): void {
  program
    .command('check')
    .summary('would this request pass?')
    .description(
      'Says whether a request would pass, by which rule and with which credential. Sends nothing. If no gateway runs, the configuration it would use is asked. If the body decides and you do not give it, the answer is: undecided.',
    )
    .argument('<method>', 'GET, POST …; or tcp://HOST:PORT')
    .argument('[url]', 'the whole URL; of tcp://HOST:PORT it stands alone')
    .option('--sandbox <ID>', 'as this sandbox (default: one with no repository and every credential)')
    .option('--header <FIELD>', 'a header field, "Name: value"; may be repeated', gatherHeader)
    .option('--body <FILE>', 'the body, from a file')
    .addOption(new Option('--config <FILE>', 'ask this configuration, not the running gateway').conflicts('sandbox'))
    .addHelpText(
      'after',
      `
Examples:
  sallyport check GET https://api.anthropic.com/v1/models
  sallyport check DELETE https://api.github.com/repos/o/r --sandbox sbx_4f1c
  sallyport check tcp://cache.example.com:6379
  sallyport check POST https://api.github.com/graphql --body query.json && echo allowed`,
    )
    .action(async (first: string, second: string | undefined, options: CheckOptions, command: Command) => {
      const [method, url] = readAsked(first, second);
      if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) throw noScheme(method, url);
      const asked: AskedRequest = {
        method: method.toUpperCase(),
        url,
        ...(options.header !== undefined && { headers: options.header }),
        ...(options.body !== undefined && { body: readBody(options.body) }),
      };
      const result = await ask(context, asked, options);
      context.exitCode = result.allowed ? exitCode.ok : isOpen(result) ? exitCode.undecided : exitCode.refused;
      if (wantsJson(command)) printJson(context, result);
      else describe(context, result);
    });
}

/** A URL without a method, or a method without a URL. */
function onlyOne(word: string): CommandFailed {
  if (!/[./:]/.test(word))
    return new CommandFailed(
      exitCode.usage,
      'the URL is missing',
      `Say: sallyport check ${printable(word.toUpperCase())} https://example.com/`,
    );
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(word) ? word : `https://${word.replace(/^\/+/, '')}`;
  return new CommandFailed(exitCode.usage, 'the method is missing', `Say: sallyport check GET ${printable(url)}`);
}

/** A plain connection has no method. */
function readAsked(first: string, second: string | undefined): [method: string, url: string] {
  const isPlain = (text: string): boolean => /^tcp:\/\//i.test(text);
  const url = second ?? first;
  if (isPlain(url)) {
    if (plainTarget(url) !== null) return ['CONNECT', url];
    const hint = 'Say: sallyport check tcp://cache.example.com:6379';
    throw new CommandFailed(exitCode.usage, `${printable(url)} is no host and port`, hint);
  }
  if (second !== undefined) return [first, second];
  throw onlyOne(first);
}

/** `example.com`, `example.com/x`, `//example.com`. */
function noScheme(method: string, url: string): CommandFailed {
  const rest = url.replace(/^\/+/, '');
  const whole = `https://${rest}${rest.includes('/') ? '' : '/'}`;
  const hint = `Say: sallyport check ${printable(method.toUpperCase())} ${printable(whole)}`;
  return new CommandFailed(exitCode.usage, `${printable(url)} is no whole URL: https:// is missing`, hint);
}

/** The running gateway; where none runs, the configuration that `up` would use, which is said. */
async function ask(context: CliContext, asked: AskedRequest, { sandbox, config }: CheckOptions): Promise<CheckResult> {
  if (config === undefined) {
    try {
      const of = sandbox === undefined ? {} : { sandbox };
      const result = await context.admin.call<CheckResult>('POST', '/internal/check', { ...of, ...asked });
      const here = sandbox === undefined ? await configNobodyFollows(context) : null;
      if (here !== null) context.say(`(${aboutOthers(here)}. For that one: --config ${printable(here.file)})`);
      return result;
    } catch (error) {
      // Who that sandbox is, only a gateway knows.
      if (!(error instanceof GatewayUnreachable) || sandbox !== undefined) throw error;
    }
  }
  const { askConfiguration } = await import('./steps/check-configuration.ts');
  const { result, origin } = await askConfiguration(context, asked, config);
  const why = config === undefined ? 'No gateway runs here' : 'Not the running gateway is asked';
  context.say(`${why}: this is judged by ${printable(origin)}.`);
  return result;
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
