// The Unix sockets of sandboxes in a gateway with workers: its own process accepts, and hands each connection on unread to
// the worker that has the fewest before it. One that is stopped takes none, so hardly anybody waits for it.
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { listenOnUnixSocket } from '../../kit/process/unix-listen.ts';

/** A worker that takes connections. */
export interface Taker {
  /** Connections that were handed to it and are not on their way yet. */
  readonly handing: number;
  take(sandboxId: string, socket: Socket): void;
}

export class PrivateSockets {
  readonly #mode: number;
  readonly #takers: () => readonly Taker[];
  readonly #open = new Map<string, { readonly server: Server; readonly path: string }>();
  #turn = 0;

  constructor(mode: number, takers: () => readonly Taker[]) {
    this.#mode = mode;
    this.#takers = takers;
  }

  async open(sandboxId: string, path: string): Promise<void> {
    const server = createServer({ pauseOnConnect: true }, (socket) => this.#handOn(sandboxId, socket));
    await listenOnUnixSocket(server, path, { occupant: 'a door of this sandbox', mode: this.#mode });
    server.on('error', () => {});
    this.#open.set(sandboxId, { server, path });
  }

  close(sandboxId: string): void {
    const door = this.#open.get(sandboxId);
    if (door === undefined) return;
    this.#open.delete(sandboxId);
    door.server.close();
    rmSync(door.path, { force: true });
  }

  closeAll(): void {
    for (const id of [...this.#open.keys()]) this.close(id);
  }

  #handOn(sandboxId: string, socket: Socket): void {
    socket.on('error', () => {});
    const takers = this.#takers();
    const fewest = Math.min(...takers.map(({ handing }) => handing));
    const free = takers.filter(({ handing }) => handing === fewest);
    const next = free[this.#turn++ % free.length];
    if (next === undefined) socket.destroy();
    else next.take(sandboxId, socket);
  }
}
