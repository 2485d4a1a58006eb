// Waits for the first bytes of a client until they are a whole ClientHello, or plainly none. Takes no part in the
// handshake, and gives up on a client that takes too long, sends too much, or sends it in too many pieces.
import type { Socket } from 'node:net';
import { GatheredBytes } from '../../../protocols/gathered-bytes.ts';
import type { ConnectionSettings } from '../http/connection-settings.ts';
import { type ClientHello, readClientHello } from './client-hello.ts';

export const handshakeTimeoutMs = 15_000;
const maxHelloBytes = 40 * 1024;
/** Clients send one to three records. All of them are read again when there is another. */
const maxLooks = 64;
const recordHeadBytes = 5;

export interface Peeked {
  /** All that was read: to be put back. */
  readonly bytes: Buffer;
  /** Null: not TLS. */
  readonly hello: ClientHello | null;
}

/** A client that may take less time for a head may take no more for what comes before it. */
export function handshakeTimeMs({ clientHeadTimeoutMs }: ConnectionSettings): number {
  return Math.min(handshakeTimeoutMs, clientHeadTimeoutMs);
}

/** `then` gets null for what begins like TLS and is none. The socket is paused by then. */
export function peekHello(
  socket: Socket,
  rest: Buffer | null,
  timeoutMs: number,
  then: (peeked: Peeked | null) => void,
): void {
  const gathered = new GatheredBytes();
  if (rest !== null) gathered.add(rest);
  let wantedBytes = 1;
  let looks = 0;
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const settle = (): boolean => {
    if (gathered.length < wantedBytes) return false;
    const bytes = gathered.view();
    const reading = readClientHello(bytes);
    if (reading.state === 'more' && bytes.length <= maxHelloBytes && ++looks < maxLooks) {
      wantedBytes = endOfRecords(bytes);
      return false;
    }
    clearTimeout(timer);
    socket.off('data', onData).off('close', onClose);
    socket.pause();
    if (reading.state === 'read') then({ bytes, hello: reading.hello });
    else then(reading.state === 'not-tls' ? { bytes, hello: null } : null);
    return true;
  };
  const onData = (chunk: Buffer): void => {
    gathered.add(chunk);
    settle();
  };
  const onClose = (): void => clearTimeout(timer);
  socket.on('data', onData).on('close', onClose);
  if (!settle()) socket.resume();
}

/** How many bytes there must be before another look is worth its while: the record under way, or the head of the next. */
function endOfRecords(bytes: Buffer): number {
  let at = 0;
  while (at + recordHeadBytes <= bytes.length) {
    at += recordHeadBytes + bytes.readUInt16BE(at + 3);
    if (at > bytes.length) return Math.min(at, maxHelloBytes + 1);
  }
  return at + recordHeadBytes;
}
