// Runs one command line in this process with its own streams, environment and home, and hands back what it printed.
import { Readable } from 'node:stream';
import { createContext, type Input } from '../../../src/cli/cli-context.ts';
import { runCommandLine } from '../../../src/cli/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly home?: string;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly stdin?: string | Input;
  readonly terminal?: boolean;
}

export async function runWith(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const { stdin = '' } = options;
  const context = createContext({
    env: { SALLYPORT_HOME: options.home ?? '/nonexistent/sallyport-test-home', ...options.env },
    cwd: options.cwd ?? '/',
    stdin: typeof stdin === 'string' ? Readable.from([Buffer.from(stdin)]) : stdin,
    stdout: {
      write: (text: string) => {
        out += text;
      },
      isTTY: options.terminal ?? false,
    },
    stderr: {
      write: (text: string) => {
        err += text;
      },
    },
  });
  const code = await runCommandLine(argv, context);
  return { code, out, err };
}
