// Asks the kernel about a socket what Node has no word for (getsockopt). One loader for all who ask: the foreign-function
// library is loaded with the first of them, because it costs memory that a gateway without them should not pay.
import type { Socket } from 'node:net';

/** Fills `value` with what the kernel says and returns how many bytes that were; -1: it does not say. */
export type ReadSocketOption = (socket: Socket, level: number, name: number, value: Buffer) => number;

// asm-generic/socket.h: the same on x86, arm and riscv. mips and sparc number them otherwise and are refused.
const architectures = new Set<string>(['x64', 'ia32', 'arm', 'arm64', 'riscv64', 'loong64']);

let loading: Promise<ReadSocketOption> | null = null;

/** Rejects where options of sockets cannot be read. The reader throws for a connection that is gone. */
export function loadSocketOptions(): Promise<ReadSocketOption> {
  loading ??= load();
  return loading;
}

async function load(): Promise<ReadSocketOption> {
  if (process.platform !== 'linux' || !architectures.has(process.arch)) {
    throw new Error(`options of sockets cannot be read on ${process.platform} ${process.arch}`);
  }
  const { default: koffi } = await import('koffi');
  const call = koffi
    .load(null)
    .func('int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *length)');
  return (socket, level, name, value) => {
    const length: [number] = [value.length];
    return Number(call(descriptorOf(socket), level, name, value, length)) === 0 ? length[0] : -1;
  };
}

/** Node has no public way to the descriptor of a socket; the handle has carried it since Node 0.12. */
export function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  if (typeof fd !== 'number' || fd < 0) throw new Error('the connection is already gone');
  return fd;
}
