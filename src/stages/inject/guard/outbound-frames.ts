// Reads what a client sends over a WebSocket as it passes: the mask taken off, message by message, a compressed one
// unfolded aside. At a frame that could be read in two ways reading ends: what came before it still goes out.

import { Fifo } from '../../../kit/fifo.ts';
import { FrameFlood, TooManyFrames } from '../../../kit/floods/websocket-flood.ts';
import { tooManyFrames } from '../../../path/exchange/frame-flood.ts';
import { Refusal } from '../../../path/refusal.ts';
import {
  closeCodes,
  type FrameHead,
  FrameReader,
  type FrameSink,
  UnreadableFrame,
} from '../../../protocols/websocket/websocket-frames.ts';
import { MessageInflater } from '../../../protocols/websocket/websocket-inflate.ts';
import { SearchedRun } from './outbound-run.ts';
import type { OutboundSigns, Sign } from './outbound-signs.ts';
import type { OutboundReader } from './outbound-writer.ts';

interface FrameSearch {
  readonly sandboxId: string;
  readonly signs: OutboundSigns;
  /** How much of one message is searched. */
  readonly maxBytes: number;
  /** permessage-deflate was agreed on. */
  readonly mayDeflate: boolean;
  /** Throws the refusal for what must not go out. */
  readonly onFound: (sign: Sign) => void;
}

/** Compressed content that waits for the inflater; `last`: its message ends there. */
interface Folded {
  readonly bytes: Buffer;
  readonly wireAt: number;
  readonly last: boolean;
}

const nowhere = Number.POSITIVE_INFINITY;
const none = Buffer.alloc(0);

export class OutboundFrames implements OutboundReader, FrameSink {
  readonly isPast = false;
  onProgress: ((refusal: Error | null) => void) | null = null;
  fault: Refusal | null = null;
  /** Where what cannot be read begins. */
  #faultAt = nowhere;
  readonly #search: FrameSearch;
  readonly #frames: FrameReader;
  /** Of the message that is under way, as it is on the wire. */
  #message: SearchedRun | null = null;
  #control: SearchedRun | null = null;
  #inflater: MessageInflater | null = null;
  /** What the message says that is being unfolded. */
  #unfolded: SearchedRun | null = null;
  readonly #folded = new Fifo<Folded>();
  /** Where on the wire the next head or content stands. */
  #at = 0;
  /** Where the head of the frame stands whose content has not come yet: it is of no use without. */
  #headAt = 0;

  constructor(search: FrameSearch) {
    this.#search = search;
    this.#frames = new FrameReader('client', search.mayDeflate, this, new FrameFlood(`${search.sandboxId} client`));
  }

  get openAt(): number {
    const aside = Math.min(this.#folded.first?.wireAt ?? nowhere, this.#unfolded?.openAt ?? nowhere);
    return Math.min(aside, this.#faultAt, this.#message?.openAt ?? nowhere, this.#control?.openAt ?? nowhere);
  }

  get isBusy(): boolean {
    return this.#folded.length > 0;
  }

  read(chunk: Buffer): void {
    if (this.fault !== null) return;
    try {
      this.#frames.feed(chunk);
    } catch (error) {
      if (error instanceof TooManyFrames) this.#stopAt(this.#at, tooManyFrames('the client', error));
      else if (error instanceof UnreadableFrame) this.#stopAt(this.#at, unreadable(error));
      else throw error;
    }
  }

  end(): void {
    this.#message?.end();
    this.#control?.end();
    if (this.#folded.length === 0) this.#unfolded?.end();
  }

  release(): void {
    this.#message?.release();
    this.#control?.release();
    this.#unfolded?.release();
  }

  close(): void {
    this.#folded.clear();
    this.#inflater?.close();
  }

  onHead({ isControl, bytes }: FrameHead): void {
    this.#headAt = this.#at;
    this.#at += bytes.length;
    if (isControl) this.#control = this.#run();
    else this.#message ??= this.#run();
  }

  onContent(content: Buffer, raw: Buffer, { isControl, isDeflated }: FrameHead): void {
    const wireAt = this.#at;
    this.#at += raw.length;
    (isControl ? this.#control : this.#message)?.feed(content, wireAt);
    if (!isDeflated) return;
    this.#unfold({ bytes: content, wireAt: Math.min(wireAt, this.#headAt), last: false });
    this.#headAt = nowhere;
  }

  onEnd({ isControl, isFinal, isDeflated }: FrameHead): void {
    if (isControl) {
      this.#control?.end();
      this.#control = null;
    } else if (isFinal) {
      this.#message?.end();
      this.#message = null;
      if (isDeflated) this.#unfold({ bytes: none, wireAt: this.#at, last: true });
    }
  }

  #run(): SearchedRun {
    const { signs, maxBytes, onFound } = this.#search;
    return new SearchedRun(signs, maxBytes, onFound);
  }

  #unfold(folded: Folded): void {
    this.#folded.push(folded);
    if (this.#folded.length === 1) this.#unfoldNext();
  }

  /** Past the limit, too: what comes next may refer to it. */
  #unfoldNext(): void {
    const { bytes, last } = this.#folded.first!;
    this.#inflater ??= new MessageInflater((piece) => this.#onUnfolded(piece));
    this.#inflater.feed(bytes, last, (failure) => {
      if (failure !== null) this.#stopUnfolding(failure);
      else this.#trySafely(() => this.#onUnfoldedAll(last));
    });
  }

  #onUnfolded(piece: Buffer): boolean {
    this.#trySafely(() => {
      this.#unfolded ??= this.#run();
      this.#unfolded.feed(piece, this.#folded.first?.wireAt ?? 0, false);
    });
    return true;
  }

  #onUnfoldedAll(last: boolean): void {
    this.#folded.shift();
    if (last) {
      this.#unfolded?.end();
      this.#unfolded = null;
    }
    if (this.#folded.length > 0) this.#unfoldNext();
    this.onProgress?.(null);
  }

  #stopUnfolding(failure: Error): void {
    const { wireAt } = this.#folded.first!;
    this.close();
    this.#stopAt(wireAt, unreadable(new UnreadableFrame(failure.message, closeCodes.invalidData)));
    this.onProgress?.(null);
  }

  #stopAt(at: number, fault: Refusal): void {
    this.fault = fault;
    this.#faultAt = at;
  }

  /** Called by zlib: what is thrown there would end the gateway. */
  #trySafely(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#breakOff(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #breakOff(reason: Error): void {
    this.close();
    this.onProgress?.(reason);
  }
}

function unreadable(cause: Error): Refusal {
  return new Refusal('malformed.framing', `a WebSocket message of the client cannot be read: ${cause.message}`, {
    rule: 'built-in: one reading of every frame',
    cause,
  });
}
