// One stream of HTTP/2: which sides are done with it, what may still be sent each way, and what waits for the other side to
// allow it. Sends and reads nothing itself.
import type { LastFrame } from './frame-output.ts';
import { ReceiveWindow } from './receive-window.ts';

/** Fields as parallel arrays, names in small letters. */
export interface FieldLists {
  readonly names: string[];
  readonly values: string[];
}

/** Whoever the content of a stream is for. */
export interface StreamHandler {
  /** To be given back with `taken` once it was used. */
  onContent(bytes: Buffer): void;
  onEnd(trailers: FieldLists | null): void;
  /** It said stop, and may go on. */
  onDrain(): void;
  /** Over, well or badly. `byPeer`: the other side broke it off, or broke a rule, and `fault` says which. */
  onClosed(byPeer: boolean, fault: string | null): void;
}

const nobody: StreamHandler = { onContent: () => {}, onEnd: () => {}, onDrain: () => {}, onClosed: () => {} };

export class Http2Stream implements LastFrame {
  readonly id: number;
  handler: StreamHandler = nobody;
  /** The other side has said its end. */
  isRemoteDone: boolean;
  isLocalDone = false;
  isClosed = false;
  /** What the other side has said when it broke it off; -1: it did not. */
  resetCode = -1;
  sendWindow: number;
  readonly receiveWindow: ReceiveWindow;
  /** What the head promised and has not come; -1: it promised nothing. */
  missingBytes: number;
  readonly waiting: Buffer[] = [];
  waitingBytes = 0;
  /** All that was ever put on the wire of it. */
  sentBytes = 0;
  /** The end comes behind what waits. */
  isEnding = false;
  trailers: FieldLists | null = null;
  slab: Buffer | null = null;
  flagsAt = 0;
  turn = 0;

  constructor(id: number, isRemoteDone: boolean, missingBytes: number, sendWindow: number, receiveWindow: number) {
    this.id = id;
    this.isRemoteDone = isRemoteDone;
    this.missingBytes = missingBytes;
    this.sendWindow = sendWindow;
    this.receiveWindow = new ReceiveWindow(receiveWindow);
  }

  /** As much of what waits as `most` bytes; the first piece alone. */
  takeWaiting(most: number): Buffer {
    const first = this.waiting[0]!;
    if (first.length <= most) {
      this.waiting.shift();
      this.waitingBytes -= first.length;
      return first;
    }
    this.waiting[0] = first.subarray(most);
    this.waitingBytes -= most;
    return first.subarray(0, most);
  }

  close(byPeer: boolean, fault: string | null): void {
    this.isClosed = true;
    this.waiting.length = 0;
    this.waitingBytes = 0;
    this.slab = null;
    const { handler } = this;
    this.handler = nobody;
    handler.onClosed(byPeer, fault);
  }
}
