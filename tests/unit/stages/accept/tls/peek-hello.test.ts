import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Peeked, peekHello } from '../../../../../src/stages/accept/tls/peek-hello.ts';
import { clientHelloBytes } from '../../../../support/client-hello-bytes.ts';

class HandSocket extends EventEmitter {
  pause(): void {}
  resume(): void {}
  destroy(): void {
    this.emit('close');
  }
}

/** Sends it in pieces; `undefined`: nothing was decided. */
function peek(bytes: Buffer, pieceBytes: number): Peeked | null | undefined {
  const socket = new HandSocket();
  let peeked: Peeked | null | undefined;
  peekHello(socket as unknown as Socket, null, 60_000, (found) => {
    peeked = found;
  });
  for (let at = 0; at < bytes.length && peeked === undefined; at += pieceBytes) {
    socket.emit('data', bytes.subarray(at, at + pieceBytes));
  }
  socket.destroy();
  return peeked;
}

describe('a ClientHello', () => {
  const hello = clientHelloBytes({ names: ['api.example'] });

  test.each([1, 7, 10_000])('is read however it is cut, in pieces of %i bytes, and given back whole', (pieceBytes) => {
    const peeked = peek(hello, pieceBytes);
    expect(peeked?.hello?.sni).toBe('api.example');
    expect(peeked?.bytes.equals(hello)).toBe(true);
  });

  test('in a few records is read too', () => {
    expect(peek(clientHelloBytes({ names: ['api.example'], recordBytes: 40 }), 5)?.hello?.sni).toBe('api.example');
  });

  test('in records of one byte, each of which would make us read all of them, is given up on', () => {
    expect(peek(clientHelloBytes({ names: ['api.example'], recordBytes: 1 }), 6)).toBeNull();
  });

  test('what is no TLS is known by its first byte', () => {
    expect(peek(Buffer.from('GET / HTTP/1.1\r\n'), 1)).toMatchObject({ hello: null });
  });
});
