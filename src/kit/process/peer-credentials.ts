// Which process is at the other end of a Unix socket, as the kernel knows it (SO_PEERCRED): nothing the peer says
// can change it. Throws where the answer cannot be had; a caller must then refuse the connection.
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { loadSocketOptions } from './socket-option.ts';

export interface PeerCredentials {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;

/** Reads pid, uid and gid of the peer, as they were when it connected. */
export async function readPeerCredentials(socket: Socket): Promise<PeerCredentials> {
  const readOption = await loadSocketOptions();
  const value = Buffer.alloc(12);
  if (readOption(socket, SOL_SOCKET, SO_PEERCRED, value) !== value.length) {
    throw new Error('the kernel did not say who is at the other end of the socket');
  }
  const word = (at: number) => (endianness() === 'LE' ? value.readUInt32LE(at) : value.readUInt32BE(at));
  const credentials = { pid: word(0), uid: word(4), gid: word(8) };
  // On a socket that is not AF_UNIX the kernel answers pid 0 and uid and gid -1.
  if (credentials.uid === 0xffffffff) throw new Error('this is not a Unix socket: its peer has no uid');
  return credentials;
}
