// Joins our terminal, or our standard input and signals, to a command elsewhere. At a terminal every key is the command's; without
// one a signal to us is passed on.

import type { RemoteCommand } from '../../sandbox/hands/control-client.ts';
import type { PassedSignal } from '../../sandbox/hands/control-messages.ts';
import type { Input } from '../cli-context.ts';

const passed: readonly PassedSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];

export interface PassedTerminal {
  readonly tty: boolean;
  /** Null: the command has none. */
  readonly input: Input | null;
}

/**
 * Signals to us go to the command, from before it is asked for: what it prints first may be what somebody waits for before they
 * send one. One that comes before it has begun waits for it; with the next we end as usual.
 */
export class PassedSignals {
  readonly #waiting: PassedSignal[] = [];
  #to: RemoteCommand | null = null;

  constructor() {
    for (const signal of passed) process.on(signal, this.#take);
  }

  passTo(remote: RemoteCommand): void {
    this.#to = remote;
    for (const signal of this.#waiting.splice(0)) remote.signal(signal);
  }

  letGo(): void {
    for (const signal of passed) process.off(signal, this.#take);
  }

  readonly #take = (name: NodeJS.Signals): void => {
    const signal = passed.find((one) => one === name);
    if (signal === undefined) return;
    if (this.#to !== null) this.#to.signal(signal);
    else if (this.#waiting.length === 0) this.#waiting.push(signal);
    else {
      this.letGo();
      process.kill(process.pid, signal);
    }
  };
}

/** Returns how the terminal is given back. */
export function passTerminal(remote: RemoteCommand, { tty, input }: PassedTerminal): () => void {
  const undo: (() => void)[] = [];
  if (tty) {
    const resized = (): void =>
      remote.resize({ rows: process.stdout.rows || 24, columns: process.stdout.columns || 80 });
    process.stdout.on('resize', resized);
    undo.push(() => void process.stdout.off('resize', resized));
  }
  if (input === null) remote.endInput();
  else {
    if (tty) {
      input.setRawMode?.(true);
      undo.push(() => void input.setRawMode?.(false));
    }
    const take = (chunk: Buffer): void => {
      if (remote.write(chunk)) return;
      input.pause();
      remote.onceTaken(() => input.resume());
    };
    const end = (): void => remote.endInput();
    input.on('data', take);
    input.on('end', end);
    input.on('error', end);
    undo.push(() => {
      input.off('data', take);
      input.off('end', end);
      input.pause();
      // Nothing is read any more, and what is open must not hold us.
      input.destroy();
    });
  }
  return () => {
    for (const step of undo.splice(0)) step();
  };
}
