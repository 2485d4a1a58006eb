// One DNS connection over TCP: messages with their length in front, one after another or all at once, answered in order.
// Holds at most one unfinished question, and a client that neither finishes one nor reads its answers is cut off.
import type { Socket } from 'node:net';
import { maxQueryBytes } from './dns-query.ts';

const lengthBytes = 2;
const idleMs = 10_000;

export class DnsStream {
  readonly #socket: Socket;
  readonly #answer: (message: Buffer) => Buffer | null;
  readonly #timer: NodeJS.Timeout;
  #unfinished: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, answer: (message: Buffer) => Buffer | null, onClosed: () => void) {
    this.#socket = socket;
    this.#answer = answer;
    // Not the socket's own timeout: that begins anew with every byte, and a byte now and then would hold it for ever.
    this.#timer = setTimeout(() => socket.destroy(), idleMs);
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('drain', () => socket.resume());
    // After its last question a client may close its side: what was answered before still goes out.
    socket.on('end', () => socket.end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(this.#timer);
      onClosed();
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    let rest = this.#unfinished.length === 0 ? bytes : Buffer.concat([this.#unfinished, bytes]);
    const replies: Buffer[] = [];
    while (rest.length >= lengthBytes) {
      const length = rest.readUInt16BE(0);
      if (length > maxQueryBytes) {
        this.#socket.destroy();
        return;
      }
      if (rest.length < lengthBytes + length) break;
      const reply = this.#answer(rest.subarray(lengthBytes, lengthBytes + length));
      rest = rest.subarray(lengthBytes + length);
      // What has no answer (no question, or one too many) ends it: there is no telling which answer was left out.
      if (reply === null) {
        this.#socket.destroy();
        return;
      }
      replies.push(lengthOf(reply), reply);
    }
    // A copy: a slice would keep the whole buffer it came in alive.
    this.#unfinished = Buffer.from(rest);
    if (replies.length === 0) return;
    this.#timer.refresh();
    if (!this.#socket.write(Buffer.concat(replies))) this.#socket.pause();
  }
}

function lengthOf(reply: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt16BE(reply.length);
  return length;
}
