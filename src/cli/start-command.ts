// Hands the process's own streams and arguments to the command line and ends with its code.
import { type CliContext, createContext, takePath } from './cli-context.ts';

/** `runLine` takes the arguments, and resolves to the exit code. */
export function startCommand(runLine: (argv: readonly string[], context: CliContext) => Promise<number>): void {
  // A reader that has seen enough (`sallyport logs | head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`sallyport: what it prints could not be written: ${error.message}\n`);
    process.exit(1);
  });

  const context = createContext({
    env: process.env,
    userPath: takePath(process.env, process.cwd()),
    cwd: process.cwd(),
    // Opened when somebody asks: opening a pipe would change it for the command that `run` hands it to.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
  });

  void runLine(process.argv.slice(2), context).then((code) => {
    process.exitCode = code;
    // Everything is done, and said when the last byte is taken: a reader may be slow. Should something still hold the process
    // then, it is not worth waiting for.
    process.stdout.write('', () => setTimeout(() => process.exit(), 3_000).unref());
  });
}
