// A request body that is drawn chunk by chunk by whoever reads it, in the order it comes and no faster than it is read.
// For stages that must look at a body before it may go on.
import type { BodyWriter, Exchange } from './exchange.ts';

/** As much as is taken in before the sender is asked to wait. */
const maxWaitingBytes = 256 * 1024;
/** Where more pieces wait, small ones are put together: each would take a hundred bytes and a turn of its own. */
const manyPieces = 64;
const smallBytes = 1024;
const roomBytes = 16 * 1024;

export class BodyPull implements BodyWriter, AsyncIterable<Buffer> {
  onDrain: (() => void) | null = null;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Small pieces that came last. */
  #room: Buffer | null = null;
  #roomUsed = 0;
  #ended = false;
  #failure: Error | null = null;
  #wake: (() => void) | null = null;

  /** Begins to draw the body of `exchange`, which must be in payload form. */
  static from(exchange: Exchange): BodyPull {
    const pull = new BodyPull();
    exchange.sendBody(pull);
    return pull;
  }

  write(chunk: Buffer): boolean {
    if (this.#waiting.length >= manyPieces && chunk.length <= smallBytes) this.#gather(chunk);
    else {
      this.#closeRoom();
      this.#waiting.push(chunk);
    }
    this.#waitingBytes += chunk.length;
    this.#wake?.();
    return this.#waitingBytes < maxWaitingBytes;
  }

  flush(): void {}

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(reason: Error): void {
    this.#failure ??= reason;
    this.#wake?.();
  }

  /** The next bytes; null at the end. Throws when the body broke off. */
  async next(): Promise<Buffer | null> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#waiting.length === 0) this.#closeRoom();
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.length;
        if (this.#waitingBytes === 0) this.onDrain?.();
        return chunk;
      }
      if (this.#ended) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  #gather(chunk: Buffer): void {
    if (this.#room !== null && this.#roomUsed + chunk.length > this.#room.length) this.#closeRoom();
    this.#room ??= Buffer.allocUnsafeSlow(roomBytes);
    chunk.copy(this.#room, this.#roomUsed);
    this.#roomUsed += chunk.length;
  }

  #closeRoom(): void {
    if (this.#room === null) return;
    this.#waiting.push(this.#room.subarray(0, this.#roomUsed));
    this.#room = null;
    this.#roomUsed = 0;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    for (let chunk = await this.next(); chunk !== null; chunk = await this.next()) yield chunk;
  }
}

/** Writes all of `source` to `to`, waiting where it asks to, and ends it; a source that breaks off fails it. */
export async function pump(source: AsyncIterable<Buffer>, to: BodyWriter): Promise<void> {
  let drained: (() => void) | null = null;
  to.onDrain = () => drained?.();
  try {
    for await (const chunk of source) {
      if (to.write(chunk)) continue;
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
      drained = null;
    }
    to.end(null);
  } catch (error) {
    to.fail(error instanceof Error ? error : new Error(String(error)));
  }
}
