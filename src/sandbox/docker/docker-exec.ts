// Another command in a container that runs. The daemon starts it, with what the container was made with: filter, capabilities,
// no new privileges, user, cgroup. A shell of this machine, which the image cannot change, says its number and becomes it.
import type { ChildProcess } from 'node:child_process';
import { closeSync, constants, openSync, realpathSync } from 'node:fs';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import type { Terminal } from '../../kit/process/terminal.ts';
import { type ExecOrder, type ExecutedCommand, LaunchError, type SandboxPlan } from '../run/sandbox-plan.ts';
import type { DockerCommand } from './docker-command.ts';
import { type Gate, gateWords } from './docker-gate.ts';

export interface ContainerOfCommand {
  readonly name: string;
  readonly plan: SandboxPlan;
  readonly gate: Gate;
}

/** Longer than any number with its line break. */
const maxNumber = 16;
const startMs = 60_000;

export function execInContainer(
  docker: DockerCommand,
  { name, plan, gate }: ContainerOfCommand,
): (order: ExecOrder) => Promise<ExecutedCommand> {
  return async (order) => {
    if (order.command.length === 0) throw new LaunchError('there is no command to run', 'sallyport exec -- CMD');
    const words = await gateWords(plan, gate);
    const values = Object.entries(order.environment).map(([key, value]) => `${key}=${value}`);
    const inside = [
      ...words.shell,
      '-c',
      'echo $$; unset PWD OLDPWD SHLVL; exec "$@"',
      'sallyport',
      ...words.through,
      ...values,
    ];
    const args = [
      ...['exec', '--interactive', `--tty=${order.terminal !== null}`],
      ...['--workdir', order.workingDirectory ?? plan.workingDirectory, '--', name, ...inside, ...order.command],
    ];
    const terminal = order.terminal === null ? null : await openOwn(order.terminal);
    const child = start(docker, args, terminal);
    const ended = new Promise<number>((resolve) => {
      child.once('error', () => resolve(125));
      child.once('exit', (code) => resolve(code ?? 137));
    });
    const from: Readable = terminal?.stream ?? child.stdout!;
    const stdin: Writable = terminal?.stream ?? child.stdin!;
    stdin.on('error', () => {});
    const { stream: stdout, number } = await withoutNumber(from, ended);
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    return {
      stdin,
      stdout,
      stderr: terminal === null ? child.stderr : null,
      ended: ended.then(async (code) => {
        if (terminal === null) await closed;
        return code;
      }),
      signal(signal) {
        if (number === null) return;
        const target = signal === 'SIGKILL' ? number : `-${number}`;
        const kill = `kill -s ${signal.replace(/^SIG/, '')} -- ${target} 2>/dev/null || kill -s ${signal.replace(/^SIG/, '')} -- ${number}`;
        docker.run(['exec', '--', name, ...words.shell, '-c', kill]).catch(() => '');
      },
      resize(size) {
        terminal?.resize(size);
        // It is in no foreground of that terminal, and would not be told.
        child.kill('SIGWINCH');
      },
    };
  };
}

function start(docker: DockerCommand, args: readonly string[], terminal: Terminal | null): ChildProcess {
  if (terminal === null) return docker.spawn(args, ['pipe', 'pipe', 'pipe'], true);
  const end = openSync(`/dev/pts/${terminal.number}`, constants.O_RDWR | constants.O_NOCTTY);
  try {
    return docker.spawn(args, [end, end, end], true);
  } finally {
    closeSync(end);
  }
}

async function openOwn(size: NonNullable<ExecOrder['terminal']>): Promise<Terminal> {
  const { openTerminal } = await import('../../kit/process/terminal.ts');
  return openTerminal(realpathSync('/dev/ptmx'), size);
}

/** The first line is the number; what the daemon says instead, when it could not start the command, is passed on. */
async function withoutNumber(
  from: Readable,
  ended: Promise<unknown>,
): Promise<{ stream: Readable; number: number | null }> {
  const stream = new PassThrough();
  let head = Buffer.alloc(0);
  let known = false;
  let timer: NodeJS.Timeout | undefined;
  const number = await new Promise<number | null>((resolve) => {
    const settle = (found: number | null, rest: Buffer): void => {
      if (known) return;
      known = true;
      if (rest.length > 0) stream.write(rest);
      resolve(found);
    };
    from.on('data', (chunk: Buffer) => {
      if (known) {
        if (!stream.write(chunk)) from.pause();
        return;
      }
      head = Buffer.concat([head, chunk]);
      const line = /^(\d{1,9})\r?\n/.exec(head.toString('latin1'));
      if (line !== null) settle(Number(line[1]), head.subarray(line[0].length));
      else if (head.length > maxNumber) settle(null, head);
    });
    stream.on('drain', () => from.resume());
    const finish = (): void => {
      settle(null, head);
      stream.end();
    };
    from.on('end', finish);
    from.on('close', finish);
    from.on('error', finish);
    void ended.then(() => settle(null, head));
    timer = setTimeout(() => settle(null, head), startMs);
  });
  clearTimeout(timer);
  return { stream, number };
}
