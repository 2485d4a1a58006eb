// The writers that a scrubbed body passes through: chunk framing off, search, chunk framing on. A credential may lie
// across two chunks, so the search is of the content alone. They hold nothing but what the search holds.
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { BodyReader } from '../../../protocols/http1/body-reader.ts';
import { encodeChunk, lastChunk } from '../../../protocols/http1/write-head.ts';

/** After so long a silence the few bytes that wait are given out: somebody may be waiting for just these. */
const silenceMs = 100;

abstract class PassingWriter implements BodyWriter {
  protected readonly to: BodyWriter;

  constructor(to: BodyWriter) {
    this.to = to;
  }

  get onDrain(): (() => void) | null {
    return this.to.onDrain;
  }

  set onDrain(act: (() => void) | null) {
    this.to.onDrain = act;
  }

  abstract write(chunk: Buffer): boolean;

  flush(): void {
    this.to.flush();
  }

  abstract end(trailers: HeaderList | null): void;

  fail(reason: Error): void {
    this.to.fail(reason);
  }
}

/** Passes on what was searched. */
export class ScrubbingWriter extends PassingWriter {
  readonly #scrub: AnswerScrub;
  readonly #body: BodyScrub;
  #silence: NodeJS.Timeout | null = null;

  constructor(to: BodyWriter, scrub: AnswerScrub) {
    super(to);
    this.#scrub = scrub;
    this.#body = scrub.openBody();
  }

  write(chunk: Buffer): boolean {
    const clean = this.#body.feed(chunk);
    this.#listen();
    if (clean.length > 0) return this.to.write(clean);
    this.to.flush();
    return true;
  }

  end(trailers: HeaderList | null): void {
    this.#stopListening();
    const rest = this.#body.end();
    if (rest.length > 0) this.to.write(rest);
    if (trailers !== null) this.#scrub.fields(trailers);
    this.to.end(trailers);
  }

  override fail(reason: Error): void {
    this.#stopListening();
    this.to.fail(reason);
  }

  #listen(): void {
    this.#stopListening();
    if (this.#body.waiting > 0) this.#silence = setTimeout(this.#release, silenceMs);
  }

  #stopListening(): void {
    if (this.#silence === null) return;
    clearTimeout(this.#silence);
    this.#silence = null;
  }

  readonly #release = (): void => {
    this.#silence = null;
    const few = this.#body.release();
    if (few.length === 0) return;
    this.to.write(few);
    this.to.flush();
  };
}

/** Takes content, writes chunks. */
export class ChunkingWriter extends PassingWriter {
  write(chunk: Buffer): boolean {
    let more = true;
    for (const part of encodeChunk(chunk)) more = this.to.write(part);
    return more;
  }

  end(trailers: HeaderList | null): void {
    this.to.write(lastChunk(trailers));
    this.to.end(null);
  }
}

/** Takes chunks, which were found to be well formed before, and writes their content. */
export class UnchunkingWriter extends PassingWriter {
  readonly #reader = new BodyReader({ kind: 'chunked' });

  write(chunk: Buffer): boolean {
    let more = true;
    const before = this.#reader.payloadBytes;
    this.#reader.feedJoined(chunk, 0, (slice) => {
      more = this.to.write(slice) && more;
    });
    if (this.#reader.payloadBytes === before) this.to.flush();
    return more;
  }

  end(): void {
    const { trailers } = this.#reader;
    this.to.end(trailers === null ? null : new HeaderList(trailers.names, trailers.keys, trailers.values));
  }
}
