// Asks the kernel how much of our answer a client has taken, to tell a slow reader from one that does not read at all. Also
// keeps small what a client can leave in its socket while we do not read. Uses internal handles of Node; where they are
// missing, it reports no progress.
import type { Socket } from 'node:net';

/** Once it is paused, a socket goes on reading until it holds so much: each piece costs far more than its bytes. */
const maxUnreadBytes = 4096;

/** Bytes that have left this process for the client on this transport (the TCP or Unix socket below any TLS). */
export function takenBytes(transport: Socket): number {
  const handle: unknown = Reflect.get(transport, '_handle');
  if (typeof handle !== 'object' || handle === null) return 0;
  return numberIn(handle, 'bytesWritten') - numberIn(handle, 'writeQueueSize');
}

/** Bytes that have been written and wait for the client to take them. */
export function waitingBytes(socket: Socket, transport: Socket): number {
  const handle: unknown = Reflect.get(transport, '_handle');
  const queued = typeof handle === 'object' && handle !== null ? numberIn(handle, 'writeQueueSize') : 0;
  return (socket.writableLength ?? 0) + queued;
}

/** Watches whether anything moves: `moved` is true when some of it has been taken since it was last asked. */
export class ClientIntake {
  readonly #transport: Socket;
  #taken = 0;

  constructor(transport: Socket) {
    this.#transport = transport;
  }

  /** From here on. */
  start(): void {
    this.#taken = takenBytes(this.#transport);
  }

  moved(): boolean {
    const before = this.#taken;
    this.start();
    return this.#taken !== before;
  }
}

/** One option sets both directions, and the other one is to be large: a slow client's answer waits there. */
export function holdLittleUnread(socket: Socket): void {
  const state: unknown = Reflect.get(socket, '_readableState');
  if (typeof state === 'object' && state !== null) Reflect.set(state, 'highWaterMark', maxUnreadBytes);
}

function numberIn(handle: object, key: string): number {
  const value: unknown = Reflect.get(handle, key);
  return typeof value === 'number' ? value : 0;
}
