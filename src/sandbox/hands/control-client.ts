// The caller's side of the socket of a sandbox that runs: one connection for each thing that is asked. What the sandbox has said
// comes out as it went in; what may be done with it is for whoever called.
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type ExecOrder, LaunchError, type WindowSize } from '../run/sandbox-plan.ts';
import type { ControlAnswer, ControlRequest, PassedSignal } from './control-messages.ts';
import { ControlReader, type Frame, frame, frameKind, words } from './frames.ts';
import { type RunningRecord, runningFolder } from './running-records.ts';

export interface RemoteCommand {
  readonly ended: Promise<number>;
  write(bytes: Buffer): boolean;
  onceTaken(act: () => void): void;
  endInput(): void;
  signal(signal: PassedSignal): void;
  resize(size: WindowSize): void;
}

export interface RemoteOutput {
  /** False: it is full; nothing more is handed over until `onceTaken` acts. */
  data(bytes: Buffer, kind: 'output' | 'errors'): boolean;
  onceTaken(kind: 'output' | 'errors', act: () => void): void;
}

const lost = 137;

export class ControlClient {
  readonly #path: string;

  constructor(state: string, { socket }: Pick<RunningRecord, 'socket'>) {
    this.#path = join(runningFolder(state), socket);
  }

  /** Resolves when it is gone. */
  async stop(seconds: number): Promise<void> {
    await this.#ask({ verb: 'stop', seconds });
  }

  async exec(order: ExecOrder, output: RemoteOutput): Promise<RemoteCommand> {
    const socket = await this.#connect();
    const { environment, workingDirectory, terminal } = order;
    socket.write(words({ verb: 'exec', command: order.command, environment, workingDirectory, terminal }));
    return new Promise((resolve, reject) => {
      let started: number | null = null;
      let finish = (_code: number): void => {};
      const ended = new Promise<number>((end) => {
        finish = end;
      });
      const tell = (request: ControlRequest): void => void this.#ask(request).catch(() => {});
      const take = (answer: ControlAnswer): void => {
        if ('failed' in answer) reject(new LaunchError(answer.failed.message, answer.failed.hint));
        if ('exit' in answer) {
          finish(answer.exit);
          socket.destroy();
        }
        if (!('started' in answer)) return;
        const exec = answer.started;
        started = exec;
        resolve({
          ended,
          write: (bytes) => socket.destroyed || socket.write(frame(frameKind.data, bytes)),
          onceTaken: (act) => void socket.once('drain', act),
          endInput: () => void (socket.destroyed || socket.write(frame(frameKind.data, Buffer.alloc(0)))),
          signal: (signal) => tell({ verb: 'signal', exec, signal }),
          resize: (size) => tell({ verb: 'resize', exec, size }),
        });
      };
      readFrames(socket, (each) => {
        if (each.kind === frameKind.words) return take(JSON.parse(each.body.toString()) as ControlAnswer);
        const kind = each.kind === frameKind.errors ? 'errors' : 'output';
        if (output.data(each.body, kind)) return;
        socket.pause();
        output.onceTaken(kind, () => socket.resume());
      });
      socket.once('close', () => {
        if (started === null) reject(gone());
        finish(lost);
      });
    });
  }

  async #ask(request: ControlRequest): Promise<void> {
    const socket = await this.#connect();
    socket.write(words(request));
    return new Promise((resolve, reject) => {
      readFrames(socket, ({ body }) => {
        const answer = JSON.parse(body.toString()) as ControlAnswer;
        if ('failed' in answer) reject(new LaunchError(answer.failed.message, answer.failed.hint));
        else resolve();
        socket.destroy();
      });
      // A sandbox that has ended takes its socket along.
      socket.once('close', () => (request.verb === 'stop' ? resolve() : reject(gone())));
    });
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#path);
      socket.once('connect', () => resolve(socket));
      socket.on('error', (error) => reject(Object.assign(gone(), { cause: error })));
    });
  }
}

function readFrames(socket: Socket, take: (each: Frame) => void): void {
  const reader = new ControlReader();
  socket.on('data', (bytes: Buffer) => {
    try {
      for (const each of reader.take(bytes)) take(each);
    } catch {
      socket.destroy();
    }
  });
}

function gone(): LaunchError {
  return new LaunchError(
    'the sandbox cannot be reached: it has ended, or is about to',
    'sallyport ps lists those that run',
  );
}
