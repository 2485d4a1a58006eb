// Where `sallyport exec` and `stop` reach the process that keeps a sandbox: a Unix socket in the state directory, for its own user
// alone. It passes bytes between the caller and a command inside, and never acts on what they say.
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { readPeerCredentials } from '../../kit/process/peer-credentials.ts';
import { waitAtMost } from '../../kit/wait-at-most.ts';
import type { ExecOrder, ExecutedCommand, RunningSandbox } from '../run/sandbox-plan.ts';
import type { ControlAnswer, ControlRequest } from './control-messages.ts';
import { ControlReader, type Frame, frame, frameKind, words } from './frames.ts';
import { stopSandbox } from './stop-sandbox.ts';

/** Callers at the same time; each is a person, or a program of theirs. */
const maxCallers = 64;
/** Until it has said what it wants. */
const requestMs = 10_000;
const hangUpMs = 5_000;
const pieceBytes = 64 * 1024;

export class ControlServer {
  readonly #server: Server;
  readonly #path: string;
  readonly #sandbox: Pick<RunningSandbox, 'exec' | 'signal' | 'kill' | 'ended'>;
  readonly #commands = new Map<number, ExecutedCommand>();
  readonly #callers = new Set<Socket>();
  #lastCommand = 0;

  /** The folder of `path` must be private. Resolves when it listens. */
  static async open(path: string, sandbox: RunningSandbox): Promise<ControlServer> {
    const opened = new ControlServer(path, sandbox);
    await opened.#listen();
    return opened;
  }

  private constructor(path: string, sandbox: RunningSandbox) {
    this.#path = path;
    this.#sandbox = sandbox;
    this.#server = createServer({ allowHalfOpen: false }, (socket) => void this.#welcome(socket));
  }

  /** Callers have heard how their commands ended. */
  close(): void {
    this.#server.close();
    rmSync(this.#path, { force: true });
    for (const socket of this.#callers) socket.destroySoon();
  }

  #listen(): Promise<void> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      // Made inside listen(), synchronously: with this umask it is born closed to everyone else.
      const before = process.umask(0o177);
      try {
        server.listen(this.#path, () => {
          server.removeListener('error', reject);
          // It holds nobody's process open.
          server.unref();
          resolve();
        });
      } finally {
        process.umask(before);
      }
    });
  }

  async #welcome(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    socket.pause();
    this.#callers.add(socket);
    socket.on('close', () => this.#callers.delete(socket));
    if (this.#callers.size > maxCallers || !(await isOurs(socket))) {
      socket.destroy();
      return;
    }
    const late = setTimeout(() => socket.destroy(), requestMs);
    const reader = new ControlReader();
    let input: ((frames: readonly Frame[]) => void) | null = null;
    const waiting: Frame[] = [];
    const first = new Promise<Frame>((resolve) => {
      let begun = false;
      socket.on('data', (bytes: Buffer) => {
        let frames: readonly Frame[];
        try {
          frames = reader.take(bytes);
        } catch {
          return void socket.destroy();
        }
        const [head, ...rest] = frames;
        if (head === undefined) return;
        if (!begun) {
          begun = true;
          clearTimeout(late);
          resolve(head);
          waiting.push(...rest);
        } else if (input === null) waiting.push(...frames);
        else input(frames);
        // Nothing but what was asked is to come before it was answered.
        if (input === null) socket.pause();
      });
    });
    socket.resume();
    const takeInput = (take: (frames: readonly Frame[]) => void): void => {
      input = take;
      take(waiting.splice(0));
      socket.resume();
    };
    try {
      await this.#serve(socket, await readRequest(await first), takeInput);
    } catch (error) {
      say(socket, { failed: inWords(error) });
    }
    clearTimeout(late);
    socket.destroySoon();
  }

  async #serve(
    socket: Socket,
    request: ControlRequest,
    takeInput: (take: (frames: readonly Frame[]) => void) => void,
  ): Promise<void> {
    switch (request.verb) {
      case 'exec':
        return this.#exec(socket, request, takeInput);
      case 'signal':
        this.#commands.get(request.exec)?.signal(request.signal);
        return say(socket, { done: true });
      case 'resize':
        this.#commands.get(request.exec)?.resize(request.size);
        return say(socket, { done: true });
      case 'stop':
        await stopSandbox(this.#sandbox, request.seconds * 1_000);
        return say(socket, { done: true });
    }
  }

  async #exec(
    socket: Socket,
    order: ExecOrder,
    takeInput: (take: (frames: readonly Frame[]) => void) => void,
  ): Promise<void> {
    const command = await this.#sandbox.exec(order);
    const number = ++this.#lastCommand;
    this.#commands.set(number, command);
    say(socket, { started: number });
    // Whoever asked for it has gone: as when the line to a terminal is cut.
    const left = (): void => command.signal('SIGHUP');
    socket.once('close', left);
    const atTerminal = order.terminal !== null;
    takeInput((frames) => feed(frames, socket, command, atTerminal));
    try {
      const outputs = [passOn(command.stdout, socket, frameKind.data)];
      if (command.stderr !== null) outputs.push(passOn(command.stderr, socket, frameKind.errors));
      const [code] = await Promise.all([command.ended, ...outputs]);
      say(socket, { exit: code });
    } finally {
      socket.off('close', left);
      this.#commands.delete(number);
      command.stdin.destroy();
    }
    await hungUp(socket);
  }
}

/**
 * It is the caller who hangs up. It may be sending still, and what is written to a socket that is closed destroys it, the exit
 * code that was on its way included.
 */
async function hungUp(socket: Socket): Promise<void> {
  socket.resume();
  const closed = finished(socket, { writable: false }).catch(() => {});
  await waitAtMost(closed, hangUpMs, () => {});
}

async function readRequest({ kind, body }: Frame): Promise<ControlRequest> {
  const { controlRequest } = await import('./control-messages.ts');
  if (kind !== frameKind.words) throw new Error('the first thing said is not a request');
  return controlRequest.parse(JSON.parse(body.toString()));
}

/** Guards: threats.md T116. The mode of the socket says the same; this holds when somebody has changed it. */
async function isOurs(socket: Socket): Promise<boolean> {
  try {
    return (await readPeerCredentials(socket)).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/** An empty piece is the end. Of what the command does not take nothing more is read. */
function feed(frames: readonly Frame[], socket: Socket, { stdin }: ExecutedCommand, atTerminal: boolean): void {
  for (const { kind, body } of frames) {
    if (kind !== frameKind.data || stdin.destroyed) continue;
    if (body.length === 0) {
      if (!atTerminal) stdin.end();
    } else if (!stdin.write(body)) {
      socket.pause();
      stdin.once('drain', () => socket.resume());
    }
  }
}

async function passOn(
  from: NonNullable<ExecutedCommand['stderr']>,
  to: Socket,
  kind: (typeof frameKind)['data' | 'errors'],
): Promise<void> {
  from.on('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      if (to.destroyed || to.write(frame(kind, chunk.subarray(at, at + pieceBytes)))) continue;
      from.pause();
      to.once('drain', () => from.resume());
    }
  });
  to.once('close', () => from.resume());
  await finished(from, { writable: false }).catch(() => {});
}

function say(socket: Socket, answer: ControlAnswer): void {
  if (!socket.destroyed) socket.write(words(answer));
}

function inWords(error: unknown): { message: string; hint: string } {
  if (error instanceof Error && error.name === 'ZodError')
    return { message: 'the request is not understood', hint: 'use the same version of sallyport for both' };
  const { message } = error instanceof Error ? error : new Error(String(error));
  const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
  return { message, hint };
}
