// A line to a Redis that can be cut and mended: for one gateway that is cut off while the others are not.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterThisFile } from './after-this-file.ts';
import type { RedisServer } from './redis-server.ts';

export interface CutLine extends Pick<RedisServer, 'settings' | 'password'> {
  cut(): void;
  mend(): void;
}

export async function lineTo(server: RedisServer): Promise<CutLine> {
  const open = new Set<Socket>();
  let isCut = false;
  const line = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(server.port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  const { port } = line.address() as { port: number };
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  afterThisFile(() => {
    cut();
    line.close();
  });
  return {
    settings: { ...server.settings, port },
    password: server.password,
    cut,
    mend() {
      isCut = false;
    },
  };
}
