// How the command line and the process that keeps a sandbox talk: frames of a kind, a length and bytes, both ways, over a Unix
// socket. Words are JSON; streams are as they are. Pure: bytes in, frames out, and never more than one frame is held.

export const frameKind = { words: 0, data: 1, errors: 2 } as const;
export type FrameKind = (typeof frameKind)[keyof typeof frameKind];

export interface Frame {
  readonly kind: number;
  readonly body: Buffer;
}

const headBytes = 5;
/** A command line with its variables fits; what a stream has is cut to pieces. */
export const maxFrameBytes = 1024 * 1024;

export class BrokenFrame extends Error {
  override readonly name = 'BrokenFrame';
}

export function frame(kind: FrameKind, body: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(body.length, 1);
  return body.length === 0 ? head : Buffer.concat([head, body]);
}

export function words(message: unknown): Buffer {
  return frame(frameKind.words, Buffer.from(JSON.stringify(message)));
}

export class ControlReader {
  #held: Buffer = Buffer.alloc(0);

  /** The whole frames that came with these bytes. Throws BrokenFrame. */
  take(bytes: Buffer): readonly Frame[] {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const frames: Frame[] = [];
    while (this.#held.length >= headBytes) {
      const length = this.#held.readUInt32BE(1);
      if (length > maxFrameBytes) throw new BrokenFrame(`a frame of ${length} bytes`);
      if (this.#held.length < headBytes + length) break;
      frames.push({ kind: this.#held.readUInt8(0), body: this.#held.subarray(headBytes, headBytes + length) });
      this.#held = this.#held.subarray(headBytes + length);
    }
    return frames;
  }
}
