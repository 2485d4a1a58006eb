// One life of a worker: a process of its own, started from the same command, and the channel to it. It shares the listening
// sockets of the doors (node:cluster) and ends when this process does. One that says what no worker says is ended.
import cluster, { type Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import { Channel, type Handlers } from './channel.ts';
import { closeUntaken } from './handed-connections.ts';
import { readFromWorker } from './read-from-worker.ts';
import type { WorkerLife } from './supervise.ts';
import type { ToPrimary, ToWorker } from './worker-verbs.ts';

export type WorkerChannel = Channel<ToWorker, ToPrimary>;

export interface ForkedWorker extends WorkerLife {
  readonly channel: WorkerChannel;
  /** Connections that were handed to it and are not on their way yet. */
  readonly handing: number;
  /** Begins to answer it. What it has said before is heard first. */
  answer(answers: WorkerAnswers): void;
}

export interface ForkOptions {
  /** The script that is a worker when it is started with the argument `worker`. */
  readonly entry: string;
  /** As this process was started with: credentials that were taken out of it since are the worker's too. */
  readonly env: NodeJS.ProcessEnv;
}

export interface WorkerAnswers {
  /** `ready` and `failed` are this file's. */
  readonly handlers: Omit<Handlers<ToPrimary>, 'failed' | 'ready'>;
  readonly onReady: (doors: ToPrimary['ready']['body']) => void;
  readonly onNonsense: (error: Error) => void;
}

/** Reads its policy and tables, and opens its doors. */
const readyWithinMs = 60_000;

export function forkWorker({ entry, env }: ForkOptions): ForkedWorker {
  cluster.setupPrimary({ exec: entry, args: ['worker'] });
  const worker = cluster.fork(env);
  closeUntaken(worker);
  const kill = (): void => {
    worker.process.kill('SIGKILL');
  };
  let served: () => void;
  let failed: (error: Error) => void;
  const ready = new Promise<void>((resolve, reject) => {
    served = resolve;
    failed = reject;
  });
  // Whoever waits for it hears it; nobody need.
  ready.catch(() => {});
  const timer = setTimeout(() => {
    failed(new Error(`a worker was not ready within ${readyWithinMs / 1000} seconds`));
    kill();
  }, readyWithinMs).unref();
  const handing = new Set<Socket>();
  const channel: WorkerChannel = new Channel(endOf(worker, handing));
  const answer = ({ handlers, onReady, onNonsense }: WorkerAnswers): void =>
    channel.answer({
      readers: readFromWorker,
      onNonsense(error) {
        onNonsense(error);
        kill();
      },
      handlers: {
        ...handlers,
        ready(doors) {
          onReady(doors);
          served();
          return null;
        },
        failed({ message }) {
          failed(new Error(message));
          return null;
        },
      },
    });
  const ended = new Promise<string>((resolve) => {
    const over = (how: string): void => {
      clearTimeout(timer);
      channel.close();
      // They waited behind one that it had not taken; Node forgets them.
      for (const socket of handing) socket.destroy();
      failed(new Error(`a worker ${how} before it served`));
      resolve(how);
    };
    worker.once('exit', (code: number | null, signal: string | null) =>
      over(signal === null ? `ended with code ${code}` : `ended by ${signal}`),
    );
    // Without a file descriptor or a process to be had none is started, and its end is never reported.
    worker.process.once('error', (error: NodeJS.ErrnoException) => {
      if (worker.process.pid === undefined) over(`could not be made (${error.code ?? error.message})`);
    });
  });
  return {
    channel,
    answer,
    get handing() {
      return handing.size;
    },
    pid: worker.process.pid,
    ready,
    ended,
    drain: (graceMs) => channel.tell('drain', { graceMs }),
    kill,
  };
}

function endOf(worker: Worker, handing: Set<Socket>): ConstructorParameters<typeof Channel>[0] {
  // A worker that has just died cannot be told anything: its end is heard by `exit`.
  worker.on('error', () => {});
  return {
    send(message, handle) {
      if (!worker.isConnected()) {
        handle?.destroy();
        return;
      }
      if (handle === undefined) {
        worker.send(message, () => {});
        return;
      }
      handing.add(handle);
      // Else Node closes it here only when the worker has said that it came, and a worker that has died never does.
      worker.process.send(message, handle, { keepOpen: true }, () => {
        handing.delete(handle);
        handle.destroy();
      });
    },
    onMessage: (listener) => {
      worker.on('message', (message: unknown, handle: unknown) => listener(message, (handle as Socket) ?? null));
    },
  };
}
