// Large pieces that arrive in one turn of the event loop leave in one write: a read of 64 KiB comes as four TLS records,
// and four writes cost nearly four times what one does. Small pieces (events of a stream) are never held.
import type { Socket } from 'node:net';

const largeBytes = 8 * 1024;

export class TurnCork {
  readonly #socket: Socket;
  #held = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  write(chunk: Buffer): boolean {
    if (chunk.length >= largeBytes && !this.#held) {
      this.#held = true;
      this.#socket.cork();
      setImmediate(this.#release);
    }
    return this.#socket.write(chunk);
  }

  readonly #release = (): void => {
    this.#held = false;
    this.#socket.uncork();
  };
}
