// `sallyport exec`: another command in a sandbox that runs, with the rights of the first and no more. What it prints is printed as
// it is, as with `run`: the terminal is the user's, and the sandbox is what they have started there.
import { isatty } from 'node:tty';
import type { Command } from 'commander';
import { ControlClient, type RemoteCommand } from '../../sandbox/hands/control-client.ts';
import { type ExecOrder, LaunchError } from '../../sandbox/run/sandbox-plan.ts';
import type { CliContext } from '../cli-context.ts';
import { gather } from '../steps/rights-options.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';
import { findRunning } from './find-running.ts';
import { PassedSignals, passTerminal } from './pass-terminal.ts';

interface ExecOptions {
  readonly in?: string;
  readonly interactive?: boolean;
  readonly tty?: boolean;
  readonly stdio?: boolean;
  readonly workdir?: string;
  readonly env?: string[];
}

export function addExecCommand(program: Command, context: CliContext): void {
  program
    .command('exec')
    .summary('another command in a sandbox that runs')
    .description(
      'Runs another command in a sandbox: the same files, network, filter, environment and limits, and never more rights.',
    )
    .usage('[options] [ID] -- COMMAND...')
    .argument('<command...>', 'the command and its arguments')
    .option('--in <ID>', 'the sandbox, by id or name; may be left out where one runs')
    .option('-i, --interactive', 'hand our standard input to it')
    .option('-t, --tty', 'give it a terminal of its own')
    .option('--stdio', 'only its standard streams, for programs that talk through it (ssh, editors)')
    .option('-w, --workdir <DIR>', 'where it runs (default: where the first command does)')
    .option('-e, --env <NAME=VALUE>', 'a variable for it; may be repeated', gather)
    .addHelpText(
      'after',
      `
At a terminal -it is not needed.

Examples:
  sallyport exec -- bash
  sallyport exec web -- npm test
  sallyport exec -i web -- sh -c 'cat > notes.txt' < notes.txt
  sallyport exec -w src -e DEBUG=1 -- node server.js`,
    )
    .action(async (words: string[], options: ExecOptions) => {
      const record = findRunning(context, options.in);
      context.exitCode = await execIn(context, new ControlClient(context.places.home, record), words, options);
    });
}

async function execIn(
  context: CliContext,
  client: ControlClient,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const atTerminal = isatty(0) && isatty(1);
  const chosen = options.tty === true || options.interactive === true || options.stdio === true;
  const tty = options.stdio !== true && (options.tty === true || (!chosen && atTerminal));
  if (tty && !atTerminal)
    throw new CommandFailed(exitCode.usage, '-t needs a terminal here', 'leave -t out, or use a terminal');
  const size = { rows: process.stdout.rows || 24, columns: process.stdout.columns || 80 };
  const order: ExecOrder = {
    command,
    environment: {
      ...(tty && context.env.TERM !== undefined && { TERM: context.env.TERM }),
      ...asVariables(options.env),
    },
    workingDirectory: options.workdir ?? null,
    terminal: tty ? size : null,
  };
  const hasInput = tty || options.interactive === true || options.stdio === true;
  const signals = new PassedSignals();
  try {
    const remote = await start(client, order);
    signals.passTo(remote);
    const letGo = passTerminal(remote, { tty, input: hasInput ? context.stdin : null });
    return await remote.ended.finally(letGo);
  } finally {
    signals.letGo();
  }
}

function start(client: ControlClient, order: ExecOrder): Promise<RemoteCommand> {
  return client
    .exec(order, {
      data: (bytes, kind) => (kind === 'errors' ? process.stderr : process.stdout).write(bytes),
      onceTaken: (kind, act) => void (kind === 'errors' ? process.stderr : process.stdout).once('drain', act),
    })
    .catch((error: unknown) => {
      if (error instanceof LaunchError) throw new CommandFailed(exitCode.notStarted, error.message, error.hint);
      throw error;
    });
}

function asVariables(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
      if (name === undefined || value === undefined)
        throw new CommandFailed(
          exitCode.usage,
          `--env ${JSON.stringify(pair)} is not NAME=VALUE`,
          'for example -e DEBUG=1',
        );
      return [name, value];
    }),
  );
}
