// Takes permessage-deflate off the messages that a server sends: what comes out are plain frames, in the same order, that
// can be searched. RFC 7692 section 6.1 lets every message go uncompressed, so the client takes them as they are.
// A message is never gathered: what it unfolds to goes on in frames of bounded size, at the client's pace.

import { Fifo } from '../../../kit/fifo.ts';
import type { FrameFlood } from '../../../kit/floods/websocket-flood.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import {
  closeCodes,
  continuation,
  FrameReader,
  type FrameSink,
  serverFrameHead,
  UnreadableFrame,
} from '../../../protocols/websocket/websocket-frames.ts';
import { MessageInflater } from '../../../protocols/websocket/websocket-inflate.ts';

/** A message up to this size goes on in one frame, if it came in one. */
const maxGatheredBytes = 64 * 1024;
const none = Buffer.alloc(0);

type Step =
  | { readonly kind: 'pass'; readonly bytes: Buffer }
  | { readonly kind: 'begin'; readonly opcode: number }
  | { readonly kind: 'inflate'; readonly bytes: Buffer; readonly last: boolean }
  | { readonly kind: 'end-frame'; readonly isFinal: boolean }
  | { readonly kind: 'end' }
  | { readonly kind: 'break-off'; readonly reason: Error };

export class InflatingWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #to: BodyWriter;
  readonly #reader: FrameReader;
  readonly #inflater: MessageInflater;
  readonly #onOver: (failure: Error | null) => void;
  readonly #steps = new Fifo<Step>();
  #isBusy = false;
  #hasRoom = true;
  #over = false;
  /** Nothing more is read; what was is still passed on. */
  #isBroken = false;
  /** Of the compressed message that is under way: for its first frame, then for those that continue it. */
  #opcode = continuation;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;

  /** `onOver`: nothing more will be passed on. */
  constructor(to: BodyWriter, flood: FrameFlood, onOver: (failure: Error | null) => void) {
    this.#to = to;
    this.#onOver = onOver;
    this.#inflater = new MessageInflater((piece) => this.#gather(piece));
    const sink: FrameSink = {
      onHead: (head) => {
        if (!head.isDeflated) this.#steps.push({ kind: 'pass', bytes: head.bytes });
        else if (head.opcode !== continuation) this.#steps.push({ kind: 'begin', opcode: head.opcode });
      },
      onContent: (content, _raw, head) => {
        this.#steps.push(
          head.isDeflated ? { kind: 'inflate', bytes: content, last: false } : { kind: 'pass', bytes: content },
        );
      },
      onEnd: (head) => {
        if (!head.isDeflated) return;
        if (head.isFinal) this.#steps.push({ kind: 'inflate', bytes: none, last: true });
        this.#steps.push({ kind: 'end-frame', isFinal: head.isFinal });
      },
    };
    this.#reader = new FrameReader('server', true, sink, flood);
    to.onDrain = () => this.#onRoom();
  }

  write(chunk: Buffer): boolean {
    if (this.#over) return true;
    if (this.#isBroken) return true;
    try {
      this.#reader.feed(chunk);
    } catch (error) {
      this.#breakOff(error as Error);
    }
    this.#run();
    return this.#hasRoom && this.#steps.length === 0 && !this.#isBusy;
  }

  flush(): void {
    if (!this.#over) this.#to.flush();
  }

  end(_trailers: HeaderList | null): void {
    if (this.#over || this.#isBroken) return;
    this.#steps.push({ kind: 'end' });
    this.#run();
  }

  fail(reason: Error): void {
    if (this.#over || (this.#isBroken && !(reason instanceof ClientGone))) return;
    this.#breakOff(reason);
    this.#run();
  }

  /** Before a frame that cannot be read comes what came before it; nothing else is waited for. */
  #breakOff(reason: Error): void {
    if (reason instanceof UnreadableFrame || reason.cause instanceof UnreadableFrame) {
      this.#isBroken = true;
      this.#steps.push({ kind: 'break-off', reason });
    } else this.#failNow(reason);
  }

  #failNow(reason: Error): void {
    this.#to.fail(reason);
    this.#stop(reason);
    // Whoever waits for room would wait for ever.
    this.onDrain?.();
  }

  /** One step after the other: what comes after a compressed part waits until that was read. */
  #run(): void {
    while (!this.#isBusy && this.#hasRoom && !this.#over) {
      const step = this.#steps.shift();
      if (step === undefined) return;
      this.#take(step);
    }
  }

  #take(step: Step): void {
    switch (step.kind) {
      case 'pass':
        this.#give(step.bytes);
        break;
      case 'begin':
        this.#opcode = step.opcode;
        break;
      case 'inflate':
        this.#isBusy = true;
        this.#inflater.feed(step.bytes, step.last, (failure) => this.#inflated(failure));
        break;
      case 'end-frame':
        if (step.isFinal || this.#gatheredBytes > 0) this.#giveFrame(step.isFinal);
        break;
      case 'break-off':
        this.#failNow(step.reason);
        break;
      case 'end':
        this.#to.end(null);
        this.#stop(null);
        break;
    }
  }

  #inflated(failure: Error | null): void {
    this.#isBusy = false;
    if (failure !== null) {
      this.#failNow(new UnreadableFrame(failure.message, closeCodes.invalidData));
      return;
    }
    this.#run();
    this.#tellRoom();
  }

  #gather(piece: Buffer): boolean {
    this.#gathered.push(piece);
    this.#gatheredBytes += piece.length;
    if (this.#gatheredBytes >= maxGatheredBytes) this.#giveFrame(false);
    return this.#hasRoom;
  }

  #giveFrame(isFinal: boolean): void {
    const head = serverFrameHead(this.#opcode, isFinal, this.#gatheredBytes);
    this.#opcode = continuation;
    const parts = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#give(Buffer.concat([head, ...parts]));
  }

  #give(bytes: Buffer): void {
    if (!this.#to.write(bytes)) this.#hasRoom = false;
  }

  #onRoom(): void {
    if (this.#over) return;
    this.#hasRoom = true;
    this.#inflater.resume();
    this.#run();
    this.#tellRoom();
  }

  #tellRoom(): void {
    if (this.#hasRoom && !this.#isBusy && this.#steps.length === 0 && !this.#over) this.onDrain?.();
  }

  #stop(failure: Error | null): void {
    this.#over = true;
    this.#steps.clear();
    this.#inflater.close();
    this.#onOver(failure);
  }
}
