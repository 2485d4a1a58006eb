import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPeerCredentials } from '../../../../src/kit/process/peer-credentials.ts';

async function accepted(
  address: string | { port: number; host: string },
): Promise<{ socket: Socket; end: () => void }> {
  const server = createServer();
  const arrived = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise<void>((resolve) => {
    if (typeof address === 'string') server.listen(address, resolve);
    else server.listen(address.port, address.host, resolve);
  });
  const bound = server.address();
  const client =
    typeof bound === 'object' && bound !== null ? connect(bound.port, bound.address) : connect(address as string);
  client.on('error', () => undefined);
  const socket = await arrived;
  return {
    socket,
    end: () => {
      client.destroy();
      socket.destroy();
      server.close();
    },
  };
}

describe('the kernel says who is at the other end of a Unix socket', () => {
  test('process, user and group of the peer', async () => {
    const base = mkdtempSync(join(tmpdir(), 'sallyport-peer-'));
    const { socket, end } = await accepted(join(base, 'a.sock'));
    const peer = await readPeerCredentials(socket);
    expect(peer).toEqual({ pid: process.pid, uid: process.geteuid?.(), gid: process.getegid?.() });
    end();
    rmSync(base, { recursive: true });
  });

  test('a TCP connection has no such peer', async () => {
    const { socket, end } = await accepted({ host: '127.0.0.1', port: 0 });
    await expect(readPeerCredentials(socket)).rejects.toThrow();
    end();
  });

  test('a connection that is gone has none either', async () => {
    const { socket, end } = await accepted({ host: '127.0.0.1', port: 0 });
    end();
    await expect(readPeerCredentials(socket)).rejects.toThrow('already gone');
  });
});
