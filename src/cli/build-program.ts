// The command line as a whole: what the commands of a list share, and how an error becomes words and an exit code. Each command
// is in its own file; this one must not know what they do.
import { Command } from 'commander';
import { packageVersion } from '../kit/files/package-version.ts';
import type { CliContext } from './cli-context.ts';
import { exitCodeHelp, judgeError } from './terminal/exit-code.ts';

type AddCommand = (program: Command, context: CliContext) => void;
/** Its name, and where it is: loaded when somebody asks for it, since one command is one start of Node. */
type ListedCommand = readonly [name: string, load: () => Promise<AddCommand>];

export type CommandTable = readonly (readonly [task: string, ofTask: readonly ListedCommand[]])[];

/** `only`: the one command that is asked for. Where there is none of this name, all of them, for a help that is whole. */
export async function buildProgramOf(context: CliContext, commands: CommandTable, only?: string): Promise<Command> {
  const program = new Command('sallyport')
    .description("The one door between an AI agent's sandbox and the world.")
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpCommand(new Command('help').argument('[command]').summary('print the help of a command').helpGroup('Work:'))
    .option('--json', 'print data as JSON')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.say(text.trimEnd()),
      // Somebody who means the program behind it.
      outputError: (text, write) => {
        const unknown = /^error: unknown command '([\w.-]+)'\s*$/.exec(text)?.[1];
        write(
          unknown === undefined ? text : `${text}(a program runs in a sandbox with: sallyport run -- ${unknown})\n`,
        );
      },
    })
    .showHelpAfterError('(--help shows how to use it)')
    .exitOverride()
    .addHelpText('afterAll', exitCodeHelp)
    .addHelpText(
      'after',
      `
Examples:
  sallyport init                                   write a first sallyport.yaml from what it finds here
  sallyport run -- claude                          an agent in a sandbox, with no key inside
  sallyport up                                     start the gateway
  sallyport secret set anthropic < key.txt         give it a credential
  sallyport register --ip 127.0.0.1 --env          let a sandbox in
  sallyport check GET https://api.anthropic.com/v1/models
  sallyport watch                                  see what happens, and answer what is asked

Environment:
  SALLYPORT_HOME    state of the gateway (default ~/.local/state/sallyport)
  SALLYPORT_CONFIG  the configuration file (default ./sallyport.yaml, ~/.config/sallyport/sallyport.yaml)
  NO_COLOR          no colours`,
    );
  // Completion is about all of them.
  const isListed = only !== 'completion' && commands.some(([, ofTask]) => ofTask.some(([name]) => name === only));
  for (const [task, ofTask] of commands) {
    program.commandsGroup(task);
    for (const [name, load] of ofTask) if (!isListed || name === only) (await load())(program, context);
  }
  return program;
}

/** The first word that is no option. */
function commandIn(argv: readonly string[]): string | undefined {
  return argv.find((word) => !word.startsWith('-'));
}

/**
 * `run bash -c x` is `run -- bash -c x`: the first word that is no option of `run` is the command, and all behind it is the
 * command's own. Without this `-c` would be read as an option of ours. With `exec` that first word is the sandbox: `exec web ls`
 * and `exec web -- ls` are `exec --in web -- ls`.
 */
export function withSeparator(argv: readonly string[], program: Command): readonly string[] {
  const at = argv.findIndex((word) => !word.startsWith('-'));
  const name = argv[at];
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined || (name !== 'run' && name !== 'exec')) return argv;
  for (let i = at + 1; i < argv.length; i++) {
    const word = argv[i]!;
    if (word === '--') return argv;
    if (!word.startsWith('-') || word === '-') {
      if (name === 'run') return [...argv.slice(0, i), '--', ...argv.slice(i)];
      const rest = argv.slice(i + 1);
      return [...argv.slice(0, i), '--in', word, ...(rest[0] === '--' || rest.length === 0 ? rest : ['--', ...rest])];
    }
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (option?.required === true) i++;
  }
  return argv;
}

/** Runs one command line (without `node` and the script). Resolves to the exit code; never throws. */
export async function runWithCommands(
  commands: CommandTable,
  argv: readonly string[],
  context: CliContext,
): Promise<number> {
  try {
    const program = await buildProgramOf(context, commands, commandIn(argv));
    await program.parseAsync(withSeparator(argv, program), { from: 'user' });
    return context.exitCode;
  } catch (error) {
    const { code, message, hint } = judgeError(error);
    if (message !== '') context.say(`sallyport: ${message}`);
    if (hint !== '') context.say(hint);
    return code;
  }
}
