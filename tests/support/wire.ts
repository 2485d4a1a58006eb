// Bytes written by hand and read as they come, over any socket: for the tests that are about the bytes themselves.
// Waits for what a test expects instead of sleeping.
import { Duplex, type Readable } from 'node:stream';

const timeoutMs = 40_000;

export class Wire {
  readonly socket: Readable;
  /** Everything that has come and was not yet taken. */
  received = '';
  /** How the connection ended: `end` in good order, `error`, or not yet. */
  ended: 'open' | 'end' | 'error' = 'open';
  readonly #waiting = new Set<() => void>();
  readonly #onData = (chunk: Buffer): void => this.#took(chunk.toString('latin1'));

  constructor(socket: Readable) {
    this.socket = socket;
    socket.on('data', this.#onData);
    socket.on('end', () => this.#end('end'));
    socket.on('error', () => this.#end('error'));
    socket.on('close', () => this.#end('error'));
    // Its user before may have paused it.
    socket.resume();
  }

  send(text: string): void {
    if (!(this.socket instanceof Duplex)) throw new Error('this end is only read');
    this.socket.write(text, 'latin1');
  }

  /** Takes everything up to and with the mark. */
  until(mark: string): Promise<string> {
    return this.#wait(`${JSON.stringify(mark)}`, () => {
      const at = this.received.indexOf(mark);
      return at < 0 ? null : this.#take(at + mark.length);
    });
  }

  /** Takes exactly so many bytes. */
  bytes(count: number): Promise<string> {
    return this.#wait(`${count} bytes`, () => (this.received.length < count ? null : this.#take(count)));
  }

  /** The head of an answer and, by its Content-Length, its body. */
  async answer(): Promise<{ readonly head: string; readonly body: string }> {
    const head = await this.until('\r\n\r\n');
    const length = /^content-length: *(\d+)/im.exec(head);
    return { head, body: length === null ? '' : await this.bytes(Number(length[1])) };
  }

  /** Waits for the end of the connection; gives what was left. */
  rest(): Promise<string> {
    return this.#wait('the end', () => (this.ended === 'open' ? null : this.#take(this.received.length)), true);
  }

  /** Stops listening: the socket gets another user. */
  release(): void {
    this.socket.off('data', this.#onData);
    this.socket.pause();
  }

  #wait(what: string, look: () => string | null, endIsFine = false): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(check);
        reject(new Error(`waited in vain for ${what}; there is ${JSON.stringify(this.received.slice(0, 500))}`));
      }, timeoutMs);
      const check = (): void => {
        const found = look();
        const failed = found === null && !endIsFine && this.ended !== 'open';
        if (found === null && !failed) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        if (found !== null) resolve(found);
        else reject(new Error(`the connection ended (${this.ended}) before ${what}; ${JSON.stringify(this.received)}`));
      };
      this.#waiting.add(check);
      check();
    });
  }

  #take(count: number): string {
    const taken = this.received.slice(0, count);
    this.received = this.received.slice(count);
    return taken;
  }

  #took(text: string): void {
    this.received += text;
    for (const check of [...this.#waiting]) check();
  }

  #end(how: 'end' | 'error'): void {
    if (this.ended === 'open') this.ended = how;
    for (const check of [...this.#waiting]) check();
  }
}
