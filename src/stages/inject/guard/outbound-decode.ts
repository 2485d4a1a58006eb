// Decodes a copy of a compressed request body, at its own pace, so that its content can be searched. The body itself goes on
// as it came. If it does not decode, no server can decode it either, and searching the raw bytes was enough.
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from 'node:zlib';
import { Fifo } from '../../../kit/fifo.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import {
  type ContentCoding,
  codingsNamed,
  contentCodings,
  isZlibForm,
} from '../../../protocols/http/content-coding.ts';
import type { SearchedRun } from './outbound-run.ts';

/**
 * The one coding that can be taken off; null: none, or one that cannot be read here. Such a body goes out searched as it
 * is: who writes both ends could encipher it as well, and a tool that compresses otherwise is not to be broken for that.
 */
export function codingOf(headers: HeaderList): ContentCoding | null {
  if (!headers.has('content-encoding')) return null;
  const names = codingsNamed(headers.getAll('content-encoding'));
  return names.length === 1 ? (contentCodings.get(names[0]!) ?? null) : null;
}

type Decoder = Gunzip | Inflate | InflateRaw | BrotliDecompress;

interface Waiting {
  readonly bytes: Buffer;
  readonly wireAt: number;
}

export class DecodedRun {
  readonly #run: SearchedRun;
  readonly #coding: ContentCoding;
  readonly #onProgress: (refusal: Error | null) => void;
  #decoder: Decoder | null = null;
  /** The first of them is being decoded. */
  readonly #waiting = new Fifo<Waiting>();
  #isEnding = false;
  #isOver = false;

  constructor(run: SearchedRun, coding: ContentCoding, onProgress: (refusal: Error | null) => void) {
    this.#run = run;
    this.#coding = coding;
    this.#onProgress = onProgress;
  }

  get openAt(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    return Math.min(this.#waiting.first?.wireAt ?? Number.POSITIVE_INFINITY, this.#run.openAt);
  }

  get isBusy(): boolean {
    return !this.#isOver && (this.#waiting.length > 0 || this.#isEnding);
  }

  get isPast(): boolean {
    return this.#isOver;
  }

  feed(bytes: Buffer, wireAt: number): void {
    if (this.#isOver || bytes.length === 0) return;
    this.#waiting.push({ bytes, wireAt });
    if (this.#waiting.length === 1) this.#decode();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isEnding = true;
    if (this.#waiting.length === 0) this.#endDecoder();
  }

  release(): void {
    this.#run.release();
  }

  close(): void {
    this.#isOver = true;
    this.#waiting.clear();
    this.#decoder?.destroy();
  }

  #decode(): void {
    const { bytes } = this.#waiting.first!;
    this.#decoder ??= this.#open(bytes);
    this.#decoder.write(bytes, () => {
      if (this.#isOver || !this.#takeOut()) return;
      this.#waiting.shift();
      if (this.#waiting.length > 0) this.#decode();
      else if (this.#isEnding) this.#endDecoder();
      this.#onProgress(null);
    });
  }

  #endDecoder(): void {
    if (this.#decoder === null) this.#finish();
    else this.#decoder.end();
  }

  #open(first: Buffer): Decoder {
    const decoder = openDecoder(this.#coding, first);
    decoder.on('readable', () => {
      if (!this.#isOver) this.#takeOut();
    });
    decoder.on('end', () => this.#finish());
    decoder.on('error', () => this.#finish());
    return decoder;
  }

  /** Searches what has come out; false: that was the end of it. */
  #takeOut(): boolean {
    try {
      for (let out = this.#read(); out !== null; out = this.#read()) {
        this.#run.feed(out, this.#waiting.first?.wireAt ?? 0, false);
        // However much is folded into the rest: nothing of it is unfolded.
        if (!this.#run.isPast) continue;
        this.#finish();
        return false;
      }
      return true;
    } catch (refusal) {
      this.close();
      this.#onProgress(refusal instanceof Error ? refusal : new Error(String(refusal)));
      return false;
    }
  }

  #read(): Buffer | null {
    return this.#decoder!.read() as Buffer | null;
  }

  /** The coded content is over, whatever may stand behind it, or cannot be read on. */
  #finish(): void {
    if (this.#isOver) return;
    try {
      this.#run.end();
    } catch (refusal) {
      this.close();
      this.#onProgress(refusal instanceof Error ? refusal : new Error(String(refusal)));
      return;
    }
    this.close();
    this.#onProgress(null);
  }
}

/** Whole or not: what is there is given out. */
function openDecoder(coding: ContentCoding, first: Buffer): Decoder {
  if (coding === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  if (coding === 'gzip') return createGunzip(options);
  // Of a single byte, only half of the sign can be seen.
  const isZlib = first.length === 1 ? (first[0]! & 0x0f) === 8 : isZlibForm(first);
  return isZlib ? createInflate(options) : createInflateRaw(options);
}
