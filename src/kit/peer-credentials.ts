// Which process is at the other end of a Unix socket, as the kernel knows it (SO_PEERCRED): nothing the peer says
// can change it. Throws where the answer cannot be had; a caller must then refuse the connection.
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

export interface PeerCredentials {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

type GetSockOpt = (fd: number, level: number, name: number, value: Buffer, length: [number]) => number;

// asm-generic/socket.h: the same on x86, arm and riscv. mips and sparc number them otherwise and are refused.
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const architectures = new Set<string>(['x64', 'ia32', 'arm', 'arm64', 'riscv64', 'loong64']);

let loading: Promise<GetSockOpt> | null = null;

/** Reads pid, uid and gid of the peer, as they were when it connected. */
export async function readPeerCredentials(socket: Socket): Promise<PeerCredentials> {
  loading ??= loadGetSockOpt();
  const getSockOpt = await loading;
  const fd = descriptorOf(socket);
  const value = Buffer.alloc(12);
  const length: [number] = [value.length];
  if (getSockOpt(fd, SOL_SOCKET, SO_PEERCRED, value, length) !== 0 || length[0] !== value.length) {
    throw new Error('the kernel did not say who is at the other end of the socket');
  }
  const word = (at: number) => (endianness() === 'LE' ? value.readUInt32LE(at) : value.readUInt32BE(at));
  const credentials = { pid: word(0), uid: word(4), gid: word(8) };
  // On a socket that is not AF_UNIX the kernel answers pid 0 and uid and gid -1.
  if (credentials.uid === 0xffffffff) throw new Error('this is not a Unix socket: its peer has no uid');
  return credentials;
}

/** Loaded with the first connection: the foreign-function library costs memory that an idle gateway should not pay. */
async function loadGetSockOpt(): Promise<GetSockOpt> {
  if (process.platform !== 'linux' || !architectures.has(process.arch)) {
    throw new Error(`peer credentials are not known on ${process.platform} ${process.arch}`);
  }
  const { default: koffi } = await import('koffi');
  const call = koffi
    .load(null)
    .func('int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *length)');
  return (fd, level, name, value, length) => Number(call(fd, level, name, value, length));
}

/** Node has no public way to the descriptor of a socket; the handle has carried it since Node 0.12. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  if (typeof fd !== 'number' || fd < 0) throw new Error('the connection is already gone');
  return fd;
}
