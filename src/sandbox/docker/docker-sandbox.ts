// A command in its container: attached to our streams, signalled through the daemon, and over only when both containers
// are. Docker's own failures are told apart from the command's, in words on standard error and with a shell's exit codes.
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningSandbox, SandboxStdio } from '../run/sandbox-plan.ts';
import { type DockerCommand, daemonSaid } from './docker-command.ts';
import type { DockerHolder } from './docker-holder.ts';

export interface AttachOptions {
  /** A container that was created and not started. */
  readonly name: string;
  readonly holder: DockerHolder;
  readonly stdio: SandboxStdio;
  /** The command has a terminal of its own, and docker joins ours to it. */
  readonly terminal: boolean;
}

/**
 * The way to leave a container running, which would only end the sandbox. It cannot be turned off, and docker's own choice
 * begins with a key that shells use all the time.
 */
const detachKeys = 'ctrl-^,ctrl-^,ctrl-^,ctrl-^,ctrl-^';

export function attachSandbox(docker: DockerCommand, options: AttachOptions): Omit<RunningSandbox, 'exec'> {
  const { holder, name } = options;
  const piped = options.stdio === 'piped';
  const stdio: StdioOptions = piped ? 'pipe' : ['inherit', 'inherit', 'pipe'];
  const args = ['start', '--attach', '--interactive', '--detach-keys', detachKeys, '--', name];
  // With a terminal it must stay in our process group to read from it, and then keys are bytes to it. Without one a Ctrl-C
  // would reach it beside us, and leave the command running without anybody attached.
  const child = docker.spawn(args, stdio, !options.terminal);
  // A command that ends early reads no input.
  child.stdin?.on('error', () => {});
  const errors = new PassThrough();
  if (!piped) errors.pipe(process.stderr, { end: false });
  const tail = keepTail(child, errors);
  let over = false;

  const ended = (async () => {
    const code = await exitOf(child);
    over = true;
    const failure = code === 1 ? startFailure(tail()) : null;
    if (failure !== null) errors.write(`sallyport: ${failure}\n`);
    errors.end();
    await holder.end();
    // It goes by itself once it has run, but not when it could not be started, or docker was killed from under us.
    if (code !== 0) await docker.run(['rm', '--force', '--', name]).catch(() => '');
    return failure !== null ? 125 : (code ?? 137);
  })();

  /** The command may not have begun, and then there is nobody to signal yet. */
  const pass = async (signal: NodeJS.Signals): Promise<void> => {
    for (let tries = 0; tries < 100 && !over; tries++) {
      try {
        await docker.run(['kill', '--signal', signal, '--', name]);
        return;
      } catch {
        await sleep(50);
      }
    }
  };

  return {
    ended,
    signal: (signal) => void pass(signal),
    kill: () => {
      void holder.end();
      docker.run(['kill', '--', holder.name]).catch(() => '');
    },
    streams: piped ? { stdin: child.stdin!, stdout: child.stdout!, stderr: errors } : null,
  };
}

/** Null: docker itself was killed, or is not there any more. */
function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.on('error', () => resolve(null));
    child.on('close', resolve);
  });
}

/** Passes standard error on and keeps its end, where docker says why it could not start. */
function keepTail(child: ChildProcess, to: PassThrough): () => string {
  let text = '';
  child.stderr?.pipe(to, { end: false });
  child.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('latin1')).slice(-8192);
  });
  return () => text;
}

/** In words. Null: the command ran, and what it ended with is its own. */
export function startFailure(tail: string): string | null {
  const last = tail
    .trimEnd()
    .split('\n')
    .findLast((line) => !line.startsWith('Error: failed to start'));
  return last?.startsWith('Error response from daemon: ') === true
    ? `docker could not start the command: ${daemonSaid(last)}`
    : null;
}
