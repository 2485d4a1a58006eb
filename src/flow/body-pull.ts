// A request body that is drawn chunk by chunk by whoever reads it, in the order it comes and no faster than it is read.
// For stages that must look at a body before it may go on.
import type { BodyWriter, Exchange } from './exchange.ts';

/** As much as is taken in before the sender is asked to wait. */
const maxWaitingBytes = 256 * 1024;

export class BodyPull implements BodyWriter, AsyncIterable<Buffer> {
  onDrain: (() => void) | null = null;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
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
    this.#waiting.push(chunk);
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
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.length;
        if (this.#waiting.length === 0) this.onDrain?.();
        return chunk;
      }
      if (this.#ended) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
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
