// Reads a request body as it passes: its content in one run, however it is cut into chunks, and beside it what stands
// between: chunk lines and trailers, in which something could travel too. A coding is taken off aside.
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { ContentCoding } from '../../../protocols/http/content-coding.ts';
import { BodyReader } from '../../../protocols/http1/body-reader.ts';
import { DecodedRun } from './outbound-decode.ts';
import { SearchedRun } from './outbound-run.ts';
import type { OutboundSigns, Sign } from './outbound-signs.ts';
import type { OutboundReader } from './outbound-writer.ts';

interface BodySearch {
  readonly signs: OutboundSigns;
  /** How much content is searched. */
  readonly maxBytes: number;
  readonly coding: ContentCoding | null;
  /** True: chunks and trailers are in the bytes (HTTP/1.1). */
  readonly isChunked: boolean;
  /** Throws the refusal for what must not go out. */
  readonly onFound: (sign: Sign, place: string) => void;
  /** Looks at the fields behind the body. Throws a Refusal. */
  readonly checkTrailers: (trailers: HeaderList) => void;
}

/** Pieces of one read, and where each stands on the wire. */
interface Placed {
  readonly pieces: Buffer[];
  readonly at: number[];
}

export class OutboundBody implements OutboundReader {
  readonly fault = null;
  onProgress: ((refusal: Error | null) => void) | null = null;
  readonly #content: SearchedRun;
  readonly #decoded: DecodedRun | null;
  readonly #between: SearchedRun | null = null;
  readonly #chunks: BodyReader | null = null;
  readonly #checkTrailers: BodySearch['checkTrailers'];

  constructor({ signs, maxBytes, coding, isChunked, onFound, checkTrailers }: BodySearch) {
    const inBody = (sign: Sign): void => onFound(sign, 'the body');
    this.#content = new SearchedRun(signs, maxBytes, inBody);
    this.#decoded =
      coding === null
        ? null
        : new DecodedRun(new SearchedRun(signs, maxBytes, inBody), coding, (refusal) => this.onProgress?.(refusal));
    this.#checkTrailers = checkTrailers;
    if (!isChunked) return;
    this.#chunks = new BodyReader({ kind: 'chunked' });
    this.#between = new SearchedRun(signs, Number.POSITIVE_INFINITY, (sign) =>
      onFound(sign, 'the framing of the body'),
    );
  }

  get openAt(): number {
    let at = this.#content.openAt;
    if (this.#between !== null) at = Math.min(at, this.#between.openAt);
    return this.#decoded === null ? at : Math.min(at, this.#decoded.openAt);
  }

  get isBusy(): boolean {
    return this.#decoded?.isBusy === true;
  }

  get isPast(): boolean {
    return this.#between === null && this.#content.isPast && this.#decoded?.isPast !== false;
  }

  read(chunk: Buffer, at: number): void {
    if (this.#chunks === null) {
      this.#content.feed(chunk, at);
      this.#decoded?.feed(chunk, at);
      return;
    }
    const content: Placed = { pieces: [], at: [] };
    const between: Placed = { pieces: [], at: [] };
    let next = 0;
    this.#chunks.feedPayload(chunk, 0, (slice) => {
      const from = slice.byteOffset - chunk.byteOffset;
      if (from > next) place(between, chunk.subarray(next, from), at + next);
      next = from + slice.length;
      place(content, slice, at + from);
    });
    if (next < chunk.length) place(between, next === 0 ? chunk : chunk.subarray(next), at + next);
    this.#content.feedAll(content.pieces, content.at);
    this.#between!.feedAll(between.pieces, between.at);
    if (this.#decoded !== null && content.pieces.length > 0) {
      this.#decoded.feed(Buffer.concat(content.pieces), content.at[0]!);
    }
  }

  end(trailers: HeaderList | null): void {
    this.#content.end();
    this.#between?.end();
    const late = trailers ?? this.#trailersInBytes();
    if (late !== null) this.#checkTrailers(late);
    this.#decoded?.end();
  }

  release(): void {
    this.#content.release();
    this.#between?.release();
    this.#decoded?.release();
  }

  close(): void {
    this.#decoded?.close();
  }

  #trailersInBytes(): HeaderList | null {
    const trailers = this.#chunks?.trailers ?? null;
    return trailers === null ? null : new HeaderList(trailers.names, trailers.keys, trailers.values);
  }
}

function place({ pieces, at }: Placed, piece: Buffer, wireAt: number): void {
  pieces.push(piece);
  at.push(wireAt);
}
