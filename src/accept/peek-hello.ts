// Waits for the first bytes of a client until they are a whole ClientHello, or plainly none. Takes no part in the
// handshake, and gives up on a client that does not come to the point.
import type { Socket } from 'node:net';
import { type ClientHello, readClientHello } from './client-hello.ts';

export const handshakeTimeoutMs = 15_000;
const maxHelloBytes = 40 * 1024;

export interface Peeked {
  /** All that was read: to be put back. */
  readonly bytes: Buffer;
  /** Null: not TLS. */
  readonly hello: ClientHello | null;
}

/** `then` gets null for what begins like TLS and is none. The socket is paused by then. */
export function peekHello(socket: Socket, rest: Buffer | null, then: (peeked: Peeked | null) => void): void {
  let bytes = rest ?? Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), handshakeTimeoutMs);
  const settle = (): boolean => {
    const reading = readClientHello(bytes);
    if (reading.state === 'more' && bytes.length <= maxHelloBytes) return false;
    clearTimeout(timer);
    socket.off('data', onData).off('close', onClose);
    socket.pause();
    if (reading.state === 'read') then({ bytes, hello: reading.hello });
    else then(reading.state === 'not-tls' ? { bytes, hello: null } : null);
    return true;
  };
  const onData = (chunk: Buffer): void => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    settle();
  };
  const onClose = (): void => clearTimeout(timer);
  socket.on('data', onData).on('close', onClose);
  if (!settle()) socket.resume();
}
