// Takes permessage-deflate (RFC 7692 section 7.2.2) off the messages of one direction of a WebSocket. What a message
// unfolds to is given out in pieces at the pace of whoever takes them; nothing is gathered here.
import { createInflateRaw, type InflateRaw } from 'node:zlib';

/** Taken off by who compressed the message, and needed to read it to its end. */
const tail = Buffer.from([0x00, 0x00, 0xff, 0xff]);
const pieceBytes = 64 * 1024;

/** What is still under way of the bytes that were fed. */
interface Fed {
  readonly bytes: number;
  readonly done: (failure: Error | null) => void;
  isRead: boolean;
}

export class MessageInflater {
  readonly #onPiece: (piece: Buffer) => boolean;
  #engine: InflateRaw | null = null;
  /** Bytes that were given to this engine before what is under way. */
  #given = 0;
  #fed: Fed | null = null;
  /** A block that called itself the last has come: what is left of the message may only be padding. */
  #ended = false;
  #isPaused = false;
  #isClosed = false;

  /** `onPiece` returns false to be given no more until `resume`. */
  constructor(onPiece: (piece: Buffer) => boolean) {
    this.#onPiece = onPiece;
  }

  /**
   * The next bytes of a message; `last`: it ends with them. `done` is called when all that they unfold to was given out
   * (never before `feed` returns), and only then may more be fed. After a failure nothing may be.
   *
   * Whether the context is taken over from message to message makes no difference to who reads: a message that does not
   * use it is read the same way with it.
   */
  feed(bytes: Buffer, last: boolean, done: (failure: Error | null) => void): void {
    const all = last ? Buffer.concat([bytes, tail]) : bytes;
    const finish = last
      ? (failure: Error | null): void => {
          this.#ended = false;
          done(failure);
        }
      : done;
    if (this.#ended || all.length === 0) {
      const failure = this.#ended && !isPadding(all) ? afterTheEnd() : null;
      setImmediate(() => finish(failure));
      return;
    }
    this.#engine ??= this.#open();
    const fed: Fed = { bytes: all.length, done: finish, isRead: false };
    this.#fed = fed;
    this.#engine.write(all, (failure) => {
      if (failure) return;
      fed.isRead = true;
      this.#settle();
    });
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#engine?.resume();
  }

  close(): void {
    this.#isClosed = true;
    this.#fed = null;
    this.#engine?.destroy();
    this.#engine = null;
  }

  #open(): InflateRaw {
    // With the largest window all smaller ones can be read.
    const engine = createInflateRaw({ windowBits: 15, chunkSize: pieceBytes });
    this.#given = 0;
    engine.on('data', (piece: Buffer) => {
      if (this.#isClosed) return;
      if (!this.#onPiece(piece)) {
        this.#isPaused = true;
        engine.pause();
      }
      this.#settle();
    });
    engine.on('end', () => this.#endEngine(engine));
    engine.on('error', (error) => this.#finish(error));
    return engine;
  }

  #settle(): void {
    const fed = this.#fed;
    if (fed === null || !fed.isRead || this.#isPaused || this.#engine!.readableLength > 0) return;
    this.#given += fed.bytes;
    this.#finish(null);
  }

  #finish(failure: Error | null): void {
    const fed = this.#fed;
    this.#fed = null;
    if (!this.#isClosed) fed?.done(failure);
  }

  /** RFC 7692 section 7.2.3.4: a message may end with a last block. What comes next begins afresh. */
  #endEngine(engine: InflateRaw): void {
    const fed = this.#fed;
    this.#engine = null;
    if (fed === null) return;
    const unread = this.#given + fed.bytes - engine.bytesWritten;
    // At most the empty block that is there for the tail; else something is hidden behind the end.
    this.#ended = true;
    this.#finish(unread > tail.length + 1 ? afterTheEnd() : null);
  }
}

/** The head of the empty block that the tail completes, and the tail. */
function isPadding(bytes: Buffer): boolean {
  const rest = bytes.length >= tail.length && bytes.subarray(-tail.length).equals(tail) ? bytes.subarray(0, -4) : bytes;
  return rest.length <= 1 && rest.every((byte) => byte === 0);
}

function afterTheEnd(): Error {
  return new Error('a compressed message goes on after its end');
}
