// Another command in a sandbox of namespaces. The host lays an order, and pipes for its streams, where the sandbox can read them
// and not change them, and names it to the shell that waits inside. Nothing of the host enters the sandbox: no process, no open
// file. What comes back is the sandbox's word, and is treated as its output is.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, mkdirSync, openSync, realpathSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { constants as system } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Terminal } from '../../kit/process/terminal.ts';
import { findTool, needTool } from '../namespace/find-tool.ts';
import type { NamespaceHolder } from '../namespace/namespace-holder.ts';
import { type ExecOrder, type ExecutedCommand, LaunchError, type SandboxPlan } from '../run/sandbox-plan.ts';
import { ExecStatus } from './exec-status.ts';
import { drainedAfter } from './late-output.ts';
import { orderScript, supervisorLines } from './supervisor.ts';

const utilLinux = 'install util-linux, which every distribution has';

/** Lines for the confined shell that becomes the command; `descriptor`: where it was released. */
export function waitForOrders(plan: SandboxPlan, descriptor: number): readonly string[] {
  if (plan.orders === undefined) return [];
  const setsid = needTool('setsid', utilLinux);
  return [
    supervisorLines({ setsid, sh: needTool('sh', 'a POSIX shell is needed'), inside: plan.orders.inside, descriptor }),
  ];
}

/** `rootOf`: a process that has the sandbox's root and is not the command's. Null: it has the terminals of the host. */
export function execInNamespace(
  holder: NamespaceHolder,
  plan: SandboxPlan,
  rootOf: (() => number | null) | null,
): (order: ExecOrder) => Promise<ExecutedCommand> {
  return async (order) => {
    if (plan.orders === undefined)
      throw new LaunchError('this sandbox takes no further commands', 'start it with `sallyport run`');
    if (order.command.length === 0) throw new LaunchError('there is no command to run', 'sallyport exec -- CMD');
    const name = randomBytes(8).toString('hex');
    const folder = join(plan.orders.folder, name);
    mkdirSync(folder, { mode: 0o700 });
    const pipes = ['status', ...(order.terminal === null ? ['in', 'out', 'err'] : [])];
    const mkfifo = needTool('mkfifo', 'install coreutils');
    await promisify(execFile)(mkfifo, ['-m', '600', '--', ...pipes.map((pipe) => join(folder, pipe))], { env: {} });
    const opened: Socket[] = [];
    const open = (pipe: string, flags: number): Socket => {
      const socket = openPipe(join(folder, pipe), flags);
      opened.push(socket);
      return socket;
    };
    try {
      const terminal = order.terminal === null ? null : await openIn(rootOf, order.terminal);
      if (terminal !== null) opened.push(terminal.stream);
      // Before there is a writer: who reads from one that nobody has opened yet simply waits.
      const status = new ExecStatus(open('status', constants.O_RDONLY));
      const streams =
        terminal === null
          ? {
              stdin: open('in', constants.O_RDWR),
              stdout: open('out', constants.O_RDONLY),
              stderr: open('err', constants.O_RDONLY),
            }
          : null;
      const script = orderScript({
        sh: needTool('sh', 'a POSIX shell is needed'),
        env: findTool('env') ?? '/usr/bin/env',
        inside: `${plan.orders.inside}/${name}`,
        command: order.command,
        environment: { ...plan.environment, ...order.environment },
        workingDirectory: order.workingDirectory ?? plan.workingDirectory,
        terminal: terminal === null ? null : `/dev/pts/${terminal.number}`,
      });
      writeFileSync(join(folder, 'start'), `${script}\n`, { flag: 'wx', mode: 0o600 });
      holder.order(name);
      await status.started(holder.ended);
      return running(holder, status, { terminal, streams }, () => forget(folder, opened));
    } catch (error) {
      await forget(folder, opened);
      throw error;
    }
  };
}

interface Ends {
  readonly terminal: Terminal | null;
  readonly streams: { readonly stdin: Socket; readonly stdout: Socket; readonly stderr: Socket } | null;
}

function running(
  holder: NamespaceHolder,
  status: ExecStatus,
  { terminal, streams }: Ends,
  forget: () => Promise<void>,
): ExecutedCommand {
  const exited = Promise.race([
    status.ended,
    holder.ended.then(
      () => lost,
      () => lost,
    ),
  ]);
  const inputs: Writable = terminal?.stream ?? inputOf(streams!.stdin);
  // Closed, or full for ever, when the command has gone.
  inputs.on('error', () => {});
  const [stdout, stderr] = terminal === null ? [streams!.stdout, streams!.stderr] : [terminal.stream, null];
  const outputs = [stdout, stderr].flatMap((from) => (from === null ? [] : [drainedAfter(from, exited)]));
  const ended = Promise.all([exited, ...outputs.map(({ ended }) => ended)]).then(async ([code]) => {
    await forget();
    return code;
  });
  return {
    stdin: inputs,
    stdout: outputs[0]!.stream,
    stderr: stderr === null ? null : outputs[1]!.stream,
    ended,
    signal(signal) {
      const process = status.process;
      if (process === null || system.signals[signal] === undefined) return;
      // The group of its session, but that one must live to say how it ended.
      holder.order(`kill ${signal.replace(/^SIG/, '')} ${signal === 'SIGKILL' ? process : -(status.group ?? process)}`);
    },
    resize: (size) => terminal?.resize(size),
  };
}

/** As if it was killed. */
const lost = 137;

/** The end of a pipe is that nobody has it open any more: a socket would try to be shut down first. */
function inputOf(pipe: Socket): Writable {
  pipe.on('error', () => {});
  return new Writable({
    write: (chunk: Buffer, _encoding, taken) => void pipe.write(chunk, () => taken()),
    final(done) {
      pipe.destroy();
      done();
    },
    destroy(_error, done) {
      pipe.destroy();
      done(null);
    },
  });
}

/** Only pipes: nothing else that may lie there is opened for longer than it takes to see that. */
function openPipe(path: string, flags: number): Socket {
  const fd = openSync(path, flags | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (!fstatSync(fd).isFIFO()) {
    closeSync(fd);
    throw new LaunchError(
      `${path} is no pipe any more`,
      'something in the sandbox has replaced it: do not trust this sandbox',
    );
  }
  return new Socket({ fd, readable: flags === constants.O_RDONLY, writable: flags !== constants.O_RDONLY });
}

/** The sandbox's own terminals where it has some: `/dev/pts` is a mount that nobody inside can replace. */
async function openIn(
  rootOf: (() => number | null) | null,
  size: NonNullable<ExecOrder['terminal']>,
): Promise<Terminal> {
  const { openTerminal } = await import('../../kit/process/terminal.ts');
  if (rootOf === null) return openTerminal(realpathSync('/dev/ptmx'), size);
  const root = rootOf();
  if (root === null) throw new LaunchError('the sandbox has ended', 'sallyport ps');
  return openTerminal(`/proc/${root}/root/dev/pts/ptmx`, size);
}

async function forget(folder: string, opened: readonly Socket[]): Promise<void> {
  for (const socket of opened) socket.destroy();
  await rm(folder, { recursive: true, force: true }).catch(() => {});
}
