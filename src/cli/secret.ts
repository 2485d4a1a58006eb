// `sallyport secret`: credentials that live in the gateway's memory only. A value comes on standard input, goes to the
// admin socket, and is never taken from the command line, printed, or put in an error.
import type { Command } from 'commander';
import type { CredentialStatus } from '../gateway/admin/admin-ports.ts';
import type { CliContext } from './cli-context.ts';
import { aboutOthers, configNobodyFollows } from './steps/config-here.ts';
import { stateOfCredential } from './steps/credential-states.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { columns, joined, printable } from './terminal/printable.ts';
import { readSecret } from './terminal/read-secret.ts';
import { agoInWords, sinceInWords, untilInWords } from './terminal/time-in-words.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

export function addSecretCommand(program: Command, context: CliContext): void {
  const secret = program
    .command('secret')
    .summary('credentials in the memory of the gateway')
    .description('Credentials that the gateway keeps in memory only. A value is never printed.')
    .addHelpText('after', '\nExamples:\n  sallyport secret set anthropic < key.txt\n  sallyport secret list');
  addSet(secret, context);
  addList(secret, context);
  addRemove(secret, context);
}

function addSet(secret: Command, context: CliContext): void {
  secret
    .command('set')
    .summary('set a value, given on standard input')
    .description('Sets the value of a credential. The value comes on standard input; a terminal is asked for it.')
    .argument('<name>', 'the credential, as the configuration names it')
    // Otherwise the parser itself would refuse a value on the command line, and quote it in its message.
    .allowExcessArguments()
    .allowUnknownOption()
    .addHelpText(
      'after',
      '\nExamples:\n  sallyport secret set anthropic < key.txt\n  pass show openai | sallyport secret set openai',
    )
    .action(async (name: string, _options: object, command: Command) => {
      if (command.args.length > 1 || name.startsWith('-')) {
        throw new CommandFailed(
          exitCode.usage,
          'a value on the command line shows in process lists and stays in the shell history; it was not used',
          'Treat that value as leaked. Give it on standard input: sallyport secret set NAME < file',
        );
      }
      if (!/^[a-z0-9][a-z0-9_.-]{0,62}$/.test(name)) {
        // Not quoted: somebody may have pasted the value in the place of the name.
        throw new CommandFailed(
          exitCode.usage,
          'this is not the name of a credential',
          'See them: sallyport secret list',
        );
      }
      const value = await readSecret(context.stdin, () => context.say(`Value of ${name} (not shown):`));
      await context.admin.putRaw(`/internal/credentials/${encodeURIComponent(name)}`, value);
      if (wantsJson(command)) printJson(context, { set: name });
      else context.print(`${context.colors.green('Set')} ${name}`);
    });
}

function addList(secret: Command, context: CliContext): void {
  secret
    .command('list')
    .summary('list the credentials: how old each is, and when it ends')
    .description(
      'Lists the credentials by name: where each comes from, whether it has a value, how old the value is, when it ends, when it was last used, and any problem. Never prints a value.',
    )
    .addHelpText(
      'after',
      `
States:
  set         it has a value
  when used   its source (a command, a keyring, a login) is asked when a request needs it
  missing     it has none, and waits for \`sallyport secret set NAME\`
  unreadable  its source fails: the line below says why, and what to do

Examples:
  sallyport secret list
  sallyport secret list --json`,
    )
    .action(async (_options: object, command: Command) => {
      const answer = await context.admin.call<{ credentials: CredentialStatus[] }>('GET', '/internal/credentials');
      if (wantsJson(command)) return printJson(context, answer.credentials);
      const here = await configNobodyFollows(context);
      if (here !== null)
        context.say(`(${aboutOthers(here)}. For that one: sallyport config check ${printable(here.file)})\n`);
      if (answer.credentials.length === 0) return context.say('The configuration names no credential.');
      context.print(describeCredentials(context, answer.credentials, Date.now()).join('\n'));
      if (answer.credentials.some(({ source, set, unasked }) => source === 'memory' && !set && !unasked)) {
        context.say('\nGive a value to one that is missing in memory: sallyport secret set NAME < file');
      }
    });
}

/** A row for each; what is wrong with one stands below it, where there is room to say what to do. */
export function describeCredentials(
  { colors }: Pick<CliContext, 'colors'>,
  credentials: readonly CredentialStatus[],
  nowMs: number,
): string[] {
  const rows = credentials.map((one) => [
    printable(one.name),
    stateOfCredential(one),
    sinceInWords(one.since, nowMs),
    untilInWords(one.expires, nowMs),
    agoInWords(one.lastUsed, nowMs),
    joined(one.source),
  ]);
  const [titles, ...lines] = columns(['NAME', 'STATE', 'AGE', 'EXPIRES', 'LAST USE', 'SOURCE'], rows);
  return [
    titles!,
    ...lines.flatMap((line, at) => {
      const { error } = credentials[at]!;
      return error ? [line, `  ${colors.yellow('problem')}  ${printable(error)}`] : [line];
    }),
  ];
}

function addRemove(secret: Command, context: CliContext): void {
  secret
    .command('rm')
    .summary('forget a value')
    .description('Makes the gateway forget the value of a credential that was set with `secret set`.')
    .argument('<name>', 'the credential')
    .addHelpText('after', '\nExamples:\n  sallyport secret rm anthropic')
    .action(async (name: string, _options: object, command: Command) => {
      await context.admin.call('DELETE', `/internal/credentials/${encodeURIComponent(name)}`);
      if (wantsJson(command)) printJson(context, { removed: name });
      else context.print(`${context.colors.green('Forgot')} ${printable(name)}`);
    });
}
