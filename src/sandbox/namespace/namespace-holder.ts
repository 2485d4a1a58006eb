// Makes the network namespace of a sandbox, with only `lo` in it, and holds it open until the command is started in it. Three processes deep, so that nothing can outlive us: a guard that dies with us, and below it
// the first process of a process namespace that dies with the guard, and takes everything started in it along.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { LaunchError, type SandboxStdio } from '../run/sandbox-plan.ts';
import { needTool } from './find-tool.ts';
import { firstChildOf } from './process-tree.ts';
import { whyNoNamespaces } from './why-no-namespaces.ts';

export interface NamespaceHolderOptions {
  readonly stdio: SandboxStdio;
  /** More of its own than network and processes, as options of unshare: `--mount`, `--ipc`. */
  readonly own: readonly string[];
  /** Shell lines run in the namespaces, with every capability over them, before the holder is ready. */
  readonly setUp?: readonly string[];
}

export interface NamespaceHolder {
  readonly process: ChildProcess;
  /** The command's standard error; null: it has ours. */
  readonly errors: Readable | null;
  readonly pid: number;
  /** Code when every process below the holder is gone; 128 + n after a signal. */
  readonly ended: Promise<number>;
  /**
   * Runs a shell script in place of the waiting one. It, or what it becomes, makes the mounts and then waits for two empty
   * lines from `release`, which it gets when `verify` is done. Resolves when it writes `startedMark`.
   */
  run(script: string, inputs: HolderInputs): Promise<void>;
  /** Resolves with true when this line was reported, with false when everything has ended. */
  said(line: string): Promise<boolean>;
  /** The first process of the sandbox's process namespace, as we see it; null when it is gone. */
  initPid(): number | null;
  /** A line for the one that waits in the sandbox, once the command was started. */
  order(line: string): void;
  /** Ends every process below the holder. */
  kill(): void;
}

export interface HolderInputs {
  readonly first: Buffer;
  readonly second: Buffer;
  /** Looks at what was mounted. Throws: everything is ended, and no command was started. */
  readonly verify: () => Promise<void>;
}

/**
 * Descriptors of the script given to `run`: its two inputs, what it waits for, and the command's standard error. Its own 2 is
 * read by us. A shell knows no number above 9.
 */
export const firstInput = 5;
export const secondInput = 6;
export const release = 7;
export const commandErrors = 8;
const guardErrors = 9;
const orders = 3;
/** Where the command's standard error comes in: our own 2 is ours from the first program on, also for what `unshare` says. */
const givenErrors = 4;

/** Written to 2 as a line of its own when the command is about to be started. */
export const startedMark = 'sallyport: the command starts';
/** Written to 2 by a script that has made all mounts. */
export const mountedMark = 'sallyport: the mounts are made';
const readyMark = 'sallyport: the namespace is ready';
const endOfScript = '# end of script';

export async function holdNamespace(options: NamespaceHolderOptions): Promise<NamespaceHolder> {
  const utilLinux = 'install util-linux, which every distribution has';
  const setpriv = needTool('setpriv', utilLinux);
  const unshare = needTool('unshare', utilLinux);
  const sh = needTool('sh', 'a POSIX shell is needed at /bin/sh');
  const cat = needTool('cat', 'install coreutils');
  const dieWithParent = [setpriv, '--pdeathsig', 'SIGKILL', '--'];

  const first = [
    `exec ${commandErrors}>&${givenErrors} ${givenErrors}>&-`,
    'set -e',
    ...(options.setUp ?? []),
    `echo ${quoteForShell(readyMark)} >&2`,
    // Nothing, or half of it, comes when we die before it is written: then there is nothing to do but end.
    `script=$(${quoteForShell(cat)} <&${orders})`,
    `exec ${orders}>&-`,
    `case $script in *${quoteForShell(endOfScript)}) eval "$script" ;; esac`,
    'exit 125',
  ].join('\n');
  // A signal from the terminal is for the command: the guard only waits, and says afterwards how it ended. Without a
  // handler Ctrl-C or Ctrl-\ would end the guard, and with it everything. It must fork once only: its first child is the
  // first process of the namespace.
  const holder = [...dieWithParent, sh, '-c', first, 'sallyport-holder'].map(quoteForShell).join(' ');
  const guard = [
    'trap : INT QUIT TERM HUP USR1 USR2',
    // A shell says "Killed" when its child was: that is for nobody.
    `exec ${guardErrors}>&2 2>/dev/null`,
    // In brackets, because a shell takes the redirections of a simple command on itself while it waits.
    `(exec ${holder} 2>&${guardErrors} ${guardErrors}>&-)`,
    'exit $?',
  ].join('\n');

  const own = ['--user', '--map-root-user', '--net', '--pid', ...options.own];
  const [program, ...args] = [...dieWithParent, unshare, ...own, '--', sh, '-c', guard, 'sallyport-guard'];
  const child = spawnWithout(program as string, args, options.stdio);
  return watch(child);
}

/** Starts it with an empty environment and none of the open files that we were given ourselves. */
function spawnWithout(program: string, args: readonly string[], stdio: SandboxStdio): ChildProcess {
  const standard = stdio === 'terminal' ? 'inherit' : 'pipe';
  const nothing = openSync('/dev/null', 'r+');
  try {
    // On 2 what goes wrong becomes an error in words instead of noise on the user's terminal.
    const descriptors: ('inherit' | 'pipe' | 'ignore' | number)[] = [standard, standard, 'pipe', 'pipe'];
    descriptors.push(stdio === 'terminal' ? 2 : 'pipe', 'pipe', 'pipe', 'pipe');
    for (const fd of inheritedDescriptors()) {
      while (descriptors.length <= fd) descriptors.push('ignore');
      if (fd > release) descriptors[fd] = nothing;
    }
    // A command in our process group could end us and our neighbours there by `kill 0`. At a terminal it must be in it: that
    // is what Ctrl-C and Ctrl-Z go by.
    return spawn(program, args, { cwd: '/', env: {}, stdio: descriptors, detached: stdio === 'piped' });
  } finally {
    closeSync(nothing);
  }
}

async function watch(child: ChildProcess): Promise<NamespaceHolder> {
  const { ended, script, report, first, second, go } = watched(child);
  let over = false;
  const finish = (): void => {
    over = true;
  };
  ended.then(finish, finish);
  // What the sandbox would write there is read by nobody.
  void ended.then(
    () => go.destroy(),
    () => go.destroy(),
  );

  const kill = (): void => {
    // No order can come any more: a first process that nothing else ends reads the end of them, and ends.
    script.destroy();
    if (over || child.pid === undefined) return;
    // The first process ends last, when all others of its namespace are gone: so the guard's end is the end of all.
    const init = firstChildOf(child.pid);
    if (init === null || !killProcess(init, 'SIGKILL')) child.kill('SIGKILL');
  };

  if (!(await report.until(readyMark, ended))) throw whyNoNamespaces(report.without(readyMark));
  return {
    process: child,
    errors: (child.stdio as unknown[])[givenErrors] as Readable | null,
    pid: child.pid as number,
    ended,
    kill,
    initPid: () => (over ? null : firstChildOf(child.pid as number)),
    said: (line) => report.until(line, ended),
    order: (line) => void go.write(`${line}\n`),
    async run(text, inputs) {
      script.end(`${text}\n${endOfScript}`);
      first.end(inputs.first);
      second.end(inputs.second);
      try {
        // Not when it has ended by itself: it has said why.
        await Promise.race([inputs.verify(), ended]);
      } catch (error) {
        kill();
        await ended;
        throw error;
      }
      go.write('\n\n');
      if (!(await report.until(startedMark, ended))) throw cannotSetUp(report.without(readyMark, mountedMark));
    },
  };
}

function watched(child: ChildProcess) {
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
  });
  const streams = child.stdio as unknown[];
  const [script, first, second, go] = [orders, firstInput, secondInput, release].map(
    (fd) => streams[fd] as Writable,
  ) as [Writable, Writable, Writable, Writable];
  // When the holder is gone a write fails: the end of the process says so already.
  for (const stream of [script, first, second, go]) stream.on('error', () => {});
  return { ended, script, first, second, go, report: new HolderReport(child.stderr as Readable) };
}

function cannotSetUp(said: string): LaunchError {
  return new LaunchError(
    `the sandbox could not be set up: ${said || 'it ended without a message'}`,
    'look at the path in the message: it may be gone, or you may not be allowed to read it',
  );
}

/** False when it is gone. */
export function killProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

// Reads what the processes of a namespace holder report while they set up a sandbox: a line for each step done, or the
// reason for a failure. Keeps the beginning only; later output, while the command runs, is dropped.
const keptCharacters = 16 * 1024;

export class HolderReport {
  private text = '';
  private readonly ended: Promise<void>;
  private wake: (() => void) | null = null;

  constructor(stream: Readable) {
    stream.setEncoding('utf8');
    stream.on('data', (part: string) => {
      if (this.text.length < keptCharacters) this.text += part;
      this.wake?.();
    });
    this.ended = new Promise((resolve) => {
      stream.once('close', resolve);
      stream.on('error', () => resolve());
    });
  }

  /** True when the line came; false when `end` came first and nothing more is to be read. */
  async until(line: string, end: Promise<unknown>): Promise<boolean> {
    let over = false;
    const finish = end.then(
      () => this.ended,
      () => this.ended,
    );
    void finish.then(() => {
      over = true;
      this.wake?.();
    });
    while (!this.has(line) && !over) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.has(line);
  }

  /** Everything said so far but the given lines. */
  without(...lines: readonly string[]): string {
    return this.text
      .split('\n')
      .filter((said) => !lines.includes(said))
      .join('\n')
      .trim();
  }

  private has(line: string): boolean {
    return `\n${this.text}`.includes(`\n${line}\n`);
  }
}

// Open files that this process was given by whoever started it and that a child would get too. Node marks its own and
// the first sixteen as not to be inherited; any other would reach the command inside the sandbox.
const O_CLOEXEC = 0o2000000;

/** Descriptors above the standard three that would survive an exec. */
function inheritedDescriptors(): readonly number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd))
    .sort((a, b) => a - b);
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & O_CLOEXEC) !== 0;
  } catch {
    // Gone: it was the one that read the folder. Still there and unreadable: taken for one that would be inherited.
    return !existsSync(`/proc/self/fdinfo/${fd}`);
  }
}
