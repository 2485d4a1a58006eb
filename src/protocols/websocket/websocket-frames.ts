// Reads the frames of a WebSocket (RFC 6455 section 5) as they come, in any pieces, from either side: heads, content with
// its mask taken off, ends. Holds no content. What two readers could take for two things is refused, never guessed at.

/** Which end sent the frames: a client masks them, a server must not. */
type FrameSender = 'client' | 'server';

export interface FrameHead {
  /** 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
  readonly opcode: number;
  readonly isFinal: boolean;
  /** Comes whole, and may stand between the frames of a message. */
  readonly isControl: boolean;
  /** The message that this frame is part of is compressed (RFC 7692); the same for all its frames. */
  readonly isDeflated: boolean;
  readonly contentBytes: number;
  /** The head as it came, with its mask. */
  readonly bytes: Buffer;
}

/** What is left out is not asked for: where nobody wants the content, no mask is taken off. */
export interface FrameSink {
  onHead?(head: FrameHead): void;
  /** Some of the content, never empty. `raw`: as it came; the same bytes where there is no mask. */
  onContent?(content: Buffer, raw: Buffer, head: FrameHead): void;
  /** The frame is complete. The message is, too, if it is final and no control frame. */
  onEnd?(head: FrameHead): void;
}

/** What a Close frame says of why (RFC 6455 section 7.4.1). */
export const closeCodes = {
  protocolError: 1002,
  invalidData: 1007,
  refused: 1008,
  tooBig: 1009,
  failed: 1011,
} as const;

export class UnreadableFrame extends Error {
  override readonly name = 'UnreadableFrame';
  /** How the one who sent it is told. */
  readonly closeCode: number;

  constructor(message: string, closeCode: number = closeCodes.protocolError) {
    super(message);
    this.closeCode = closeCode;
  }
}

/** Told of every frame before its sink. Throws UnreadableFrame where there are too many. */
interface FrameCounter {
  count(head: FrameHead): void;
}

export const continuation = 0x0;
const textMessage = 0x1;
const binaryMessage = 0x2;
const firstControl = 0x8;
export const closing = 0x8;
const lastControl = 0xa;
const finalBit = 0x80;
const deflatedBit = 0x40;
/** No extension that we let through uses them. */
const otherReservedBits = 0x30;
const opcodeBits = 0x0f;
const maskBit = 0x80;
const lengthBits = 0x7f;
const maxControlBytes = 125;
const none = Buffer.alloc(0);

export class FrameReader {
  readonly #sink: FrameSink;
  readonly #isMasked: boolean;
  readonly #mayDeflate: boolean;
  readonly #counter: FrameCounter | null;
  #held: Buffer = none;
  #head: FrameHead | null = null;
  /** Content of the frame that has not come yet. */
  #missing = 0;
  #maskAt = 0;
  /** Of the message that is under way; null: between messages. */
  #message: { readonly isDeflated: boolean } | null = null;

  /** `mayDeflate`: permessage-deflate was agreed on. */
  constructor(sender: FrameSender, mayDeflate: boolean, sink: FrameSink, counter: FrameCounter | null = null) {
    this.#isMasked = sender === 'client';
    this.#mayDeflate = mayDeflate;
    this.#sink = sink;
    this.#counter = counter;
  }

  /** True where no frame is half-way: a control frame may stand here. */
  get isBetweenFrames(): boolean {
    return this.#head === null && this.#held.length === 0;
  }

  /** True where nothing is half-way: neither a frame nor a message. */
  get isBetweenMessages(): boolean {
    return this.#head === null && this.#held.length === 0 && this.#message === null;
  }

  /** Throws UnreadableFrame; nothing may be fed after that. */
  feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at = this.#head === null ? this.#takeHead(chunk, at) : this.#takeContent(chunk, at);
  }

  #takeHead(chunk: Buffer, at: number): number {
    const held = this.#held.length;
    let bytes = chunk.subarray(at);
    if (held > 0) bytes = Buffer.concat([this.#held, bytes.subarray(0, 14 - held)]);
    const size = this.#headSize(bytes);
    if (size > bytes.length) {
      // A copy: who gave the bytes may use them again.
      this.#held = Buffer.from(bytes);
      return chunk.length;
    }
    this.#held = none;
    const head = this.#readHead(bytes.subarray(0, size));
    this.#counter?.count(head);
    this.#head = head;
    this.#missing = head.contentBytes;
    this.#maskAt = 0;
    this.#sink.onHead?.(head);
    if (this.#missing === 0) this.#endFrame(head);
    return at + size - held;
  }

  /** How long the head is, as far as that can be told from its beginning. */
  #headSize(bytes: Buffer): number {
    if (bytes.length < 2) return 2;
    if (((bytes[1]! & maskBit) !== 0) !== this.#isMasked) {
      throw new UnreadableFrame(
        this.#isMasked ? 'a client sent a frame without a mask' : 'a server sent a masked frame',
      );
    }
    const length = bytes[1]! & lengthBits;
    return 2 + (length < 126 ? 0 : length === 126 ? 2 : 8) + (this.#isMasked ? 4 : 0);
  }

  #readHead(bytes: Buffer): FrameHead {
    const opcode = bytes[0]! & opcodeBits;
    const isFinal = (bytes[0]! & finalBit) !== 0;
    const contentBytes = contentSize(bytes);
    const marked = (bytes[0]! & deflatedBit) !== 0;
    if ((bytes[0]! & otherReservedBits) !== 0 || (marked && !this.#mayDeflate)) {
      throw new UnreadableFrame('a frame uses an extension that was not agreed on');
    }
    if (opcode >= firstControl) {
      if (opcode > lastControl) throw new UnreadableFrame('a control frame of an unknown kind');
      if (marked || !isFinal || contentBytes > maxControlBytes) {
        throw new UnreadableFrame('a control frame that is compressed, in parts or too long');
      }
      return { opcode, isFinal, isControl: true, isDeflated: false, contentBytes, bytes };
    }
    if (opcode === continuation) {
      // RFC 7692 section 6: only the first frame of a message is marked.
      if (this.#message === null || marked) throw new UnreadableFrame('a frame continues no message');
    } else {
      if (opcode !== textMessage && opcode !== binaryMessage) throw new UnreadableFrame('a frame of an unknown kind');
      if (this.#message !== null) throw new UnreadableFrame('a message begins inside another');
      this.#message = { isDeflated: marked };
    }
    return { opcode, isFinal, isControl: false, isDeflated: this.#message.isDeflated, contentBytes, bytes };
  }

  #takeContent(chunk: Buffer, at: number): number {
    const head = this.#head!;
    const raw = chunk.subarray(at, at + this.#missing);
    this.#missing -= raw.length;
    this.#sink.onContent?.(this.#isMasked ? this.#unmasked(raw, head) : raw, raw, head);
    if (this.#missing === 0) this.#endFrame(head);
    return at + raw.length;
  }

  #unmasked(raw: Buffer, { bytes }: FrameHead): Buffer {
    const content = Buffer.allocUnsafe(raw.length);
    const maskStart = bytes.length - 4;
    let at = this.#maskAt;
    for (let i = 0; i < raw.length; i++) {
      content[i] = raw[i]! ^ bytes[maskStart + at]!;
      at = (at + 1) & 3;
    }
    this.#maskAt = at;
    return content;
  }

  #endFrame(head: FrameHead): void {
    this.#head = null;
    if (!head.isControl && head.isFinal) this.#message = null;
    this.#sink.onEnd?.(head);
  }
}

function contentSize(bytes: Buffer): number {
  const length = bytes[1]! & lengthBits;
  if (length < 126) return length;
  if (length === 126) return bytes.readUInt16BE(2);
  const size = bytes.readBigUInt64BE(2);
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw new UnreadableFrame('a frame longer than any', closeCodes.tooBig);
  return Number(size);
}

/** The head of a frame as a server writes it: no mask, no extension. */
export function serverFrameHead(opcode: number, isFinal: boolean, contentBytes: number): Buffer {
  const first = opcode | (isFinal ? finalBit : 0);
  if (contentBytes < 126) return Buffer.from([first, contentBytes]);
  if (contentBytes < 0x10000) return Buffer.from([first, 126, contentBytes >> 8, contentBytes & 0xff]);
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(contentBytes), 2);
  return head;
}

/** The last frame of one side, with as much of `reason` as has room. `mask`: four bytes where a client says it. */
export function closeFrame(code: number, reason: string, mask: Buffer | null = null): Buffer {
  const words = Buffer.from(reason);
  let end = Math.min(words.length, maxControlBytes - 2);
  // Not inside a character: the reason must be UTF-8.
  while (end < words.length && end > 0 && (words[end]! & 0xc0) === 0x80) end--;
  const content = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), words.subarray(0, end)]);
  const head = serverFrameHead(closing, true, content.length);
  if (mask === null) return Buffer.concat([head, content]);
  head[1] = head[1]! | maskBit;
  return Buffer.concat([head, mask, content.map((byte, i) => byte ^ mask[i & 3]!)]);
}
