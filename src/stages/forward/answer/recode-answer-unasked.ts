// An answer in a coding that the client did not ask for. It may be a file whose exact bytes matter (an archive with a
// checksum), so each part is passed on unchanged once its content has been searched and found clean. If a credential is found
// near the beginning, the answer is masked and compressed anew; after that it can only be cut off.
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { ContentCoding } from '../../../protocols/http/content-coding.ts';
import { DecodingWriter } from './decode-answer.ts';

/** So much is looked at before anything goes out. */
const maxUndecidedBytes = 64 * 1024;
/** And no longer than this after the last that came: somebody may be waiting for it. */
const silenceMs = 100;

export class CredentialInFile extends Error {
  override readonly name = 'CredentialInFile';
}

export interface UnaskedPorts {
  /** Sends the head as it came; takes the coded bytes. */
  openAsItCame(): BodyWriter;
  /** Sends the head of an answer that was changed; takes content, which it compresses. */
  openRecoded(): BodyWriter;
  /** All was passed on (null), or it failed. */
  onOver(failure: Error | null): void;
}

/** Coded bytes that may not go yet. */
interface Held {
  readonly bytes: Buffer;
  /** Where in the coded body they end. */
  readonly codedEnd: number;
  /** Where in the content they end; null: not read so far. */
  contentEnd: number | null;
}

export class UnaskedWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #ports: UnaskedPorts;
  readonly #scrub: AnswerScrub;
  readonly #body: BodyScrub;
  readonly #decoder: DecodingWriter;
  readonly #content: BodyWriter;
  readonly #replacedBefore: number;
  /** As it came. Both null: not decided. */
  #asItCame: BodyWriter | null = null;
  #recoded: BodyWriter | null = null;
  #held: Held[] = [];
  /** Searched content, while it is not decided. */
  #clean: Buffer[] = [];
  #codedBytes = 0;
  #readBytes = 0;
  #contentBytes = 0;
  #hasRoom = true;
  #ending = false;
  #over = false;
  #silence: NodeJS.Timeout | null = null;

  constructor(coding: ContentCoding, scrub: AnswerScrub, ports: UnaskedPorts) {
    this.#ports = ports;
    this.#scrub = scrub;
    this.#body = scrub.openBody();
    this.#replacedBefore = scrub.replaced;
    this.#content = {
      onDrain: null,
      write: (piece) => this.#takeContent(piece),
      flush: () => this.#recoded?.flush(),
      end: (trailers) => this.#finish(trailers),
      fail: () => {},
    };
    this.#decoder = new DecodingWriter(this.#content, coding, {
      onRead: (codedBytes) => this.#noteRead(codedBytes),
      onBroken: (error) => this.fail(error),
    });
    this.#decoder.onDrain = () => this.#drained();
  }

  write(chunk: Buffer): boolean {
    if (this.#over) return true;
    this.#codedBytes += chunk.length;
    if (this.#recoded === null) {
      this.#held.push({ bytes: chunk, codedEnd: this.#codedBytes, contentEnd: null });
    }
    this.#listen();
    return this.#decoder.write(chunk) && this.#hasRoom;
  }

  flush(): void {
    if (!this.#over) (this.#asItCame ?? this.#recoded)?.flush();
  }

  end(trailers: HeaderList | null): void {
    this.#ending = true;
    this.#decoder.end(trailers);
  }

  fail(reason: Error): void {
    if (this.#over) {
      // It may still be at work.
      this.#recoded?.fail(reason);
      return;
    }
    this.#stop();
    this.#decoder.fail(reason);
    // Before its head has gone out the answer can still be one in words.
    (this.#asItCame ?? this.#recoded)?.fail(reason);
    this.#ports.onOver(reason);
    // Whoever waits for room would wait for ever.
    if (!this.#ending) this.onDrain?.();
  }

  #takeContent(piece: Buffer): boolean {
    this.#contentBytes += piece.length;
    const clean = this.#body.feed(piece);
    if (this.#recoded !== null) return clean.length === 0 || this.#recoded.write(clean);
    if (this.#asItCame === null) this.#clean.push(clean);
    this.#decide(false);
    this.#passOn(this.#contentBytes - this.#body.waiting);
    return true;
  }

  #noteRead(codedBytes: number): void {
    this.#readBytes = codedBytes;
    for (const held of this.#held) if (held.codedEnd <= codedBytes) held.contentEnd ??= this.#contentBytes;
    this.#passOn(this.#contentBytes - this.#body.waiting);
  }

  /** `now`: nothing more is waited for. */
  #decide(now: boolean): void {
    const hasCredential = this.#scrub.replaced > this.#replacedBefore;
    if (this.#recoded !== null || this.#over) return;
    if (this.#asItCame !== null) {
      if (hasCredential) this.fail(new CredentialInFile('a compressed body holds a credential'));
    } else if (hasCredential) this.#recode();
    else if (now || this.#codedBytes > maxUndecidedBytes || this.#contentBytes > maxUndecidedBytes) {
      this.#clean = [];
      this.#asItCame = this.#opened(() => this.#ports.openAsItCame());
      if (this.#asItCame === null) return;
      this.#asItCame.onDrain = () => {
        this.#hasRoom = true;
        this.#drained();
      };
    }
  }

  /** Null: its head cannot be passed on. Called by zlib and by a timer: what is thrown there would end the gateway. */
  #opened(open: () => BodyWriter): BodyWriter | null {
    try {
      return open();
    } catch (error) {
      this.fail(error as Error);
      return null;
    }
  }

  #recode(): void {
    const to = this.#opened(() => this.#ports.openRecoded());
    if (to === null) return;
    to.onDrain = () => this.#content.onDrain?.();
    this.#recoded = to;
    this.#held = [];
    for (const clean of this.#clean) if (clean.length > 0) to.write(clean);
    this.#clean = [];
  }

  /** What ends within the first `cleanBytes` of the content goes. */
  #passOn(cleanBytes: number): void {
    const to = this.#asItCame;
    while (to !== null && !this.#over && this.#held.length > 0) {
      const { contentEnd, bytes } = this.#held[0]!;
      if (contentEnd === null || contentEnd > cleanBytes) return;
      this.#held.shift();
      this.#hasRoom = to.write(bytes);
    }
  }

  #finish(trailers: HeaderList | null): void {
    const rest = this.#body.end();
    if (this.#asItCame === null) this.#clean.push(rest);
    this.#decide(true);
    this.#passOn(this.#contentBytes);
    if (this.#over) return;
    if (trailers !== null) this.#scrub.fields(trailers);
    if (this.#recoded !== null) {
      this.#stop();
      for (const clean of this.#clean) if (clean.length > 0) this.#recoded.write(clean);
      // It tells itself when it is over.
      this.#recoded.end(trailers);
      return;
    }
    try {
      this.#asItCame!.end(trailers);
    } catch (error) {
      this.fail(error as Error);
      return;
    }
    this.#stop();
    this.#ports.onOver(null);
  }

  #listen(): void {
    if (this.#asItCame !== null || this.#recoded !== null) return;
    if (this.#silence !== null) this.#silence.refresh();
    else this.#silence = setTimeout(() => this.#endSilence(), silenceMs);
  }

  #endSilence(): void {
    // The silence may be the decoder's, which has not come to the end of what there is.
    if (this.#readBytes < this.#codedBytes) {
      this.#silence?.refresh();
      return;
    }
    this.#decide(true);
    this.#passOn(this.#contentBytes - this.#body.waiting);
    this.flush();
  }

  #stop(): void {
    this.#over = true;
    this.#held = [];
    if (this.#silence !== null) clearTimeout(this.#silence);
  }

  /** Not after the end: the connection that brought the answer may be in other hands by then. */
  #drained(): void {
    if (this.#hasRoom && !this.#ending) this.onDrain?.();
  }
}
