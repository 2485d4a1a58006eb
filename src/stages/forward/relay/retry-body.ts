// A request body on its way to the upstream that may have to go out a second time: kept while it is sent, as long as it is
// short enough, and poured again into the second try, what the client had not sent by then behind it. Never sends on
// what it has not kept, and never keeps more than it may.
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';

/** Longer bodies are not repeated. */
export const maxKeptBytes = 4 * 1024 ** 2;

/** Where a body takes what it may keep from. */
export interface KeepingShare {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/** What all bodies together may keep, and of that the bodies of one sandbox a quarter: nobody can use up all of it. */
export class KeepingRoom {
  readonly #shareBytes: number;
  #leftBytes: number;
  readonly #keptBy = new Map<string, number>();

  constructor(bytes: number = 64 * 1024 ** 2, shareBytes: number = bytes / 4) {
    this.#leftBytes = bytes;
    this.#shareBytes = shareBytes;
  }

  shareOf(sandboxId: string): KeepingShare {
    return {
      take: (bytes) => {
        const kept = this.#keptBy.get(sandboxId) ?? 0;
        if (bytes > this.#leftBytes || kept + bytes > this.#shareBytes) return false;
        this.#leftBytes -= bytes;
        this.#keptBy.set(sandboxId, kept + bytes);
        return true;
      },
      giveBack: (bytes) => {
        this.#leftBytes += bytes;
        const kept = (this.#keptBy.get(sandboxId) ?? 0) - bytes;
        if (kept > 0) this.#keptBy.set(sandboxId, kept);
        else this.#keptBy.delete(sandboxId);
      },
    };
  }
}

const firstBlockBytes = 16 * 1024;

export class RetryBody implements BodyWriter {
  /** Set by the exchange that the body comes from. */
  onDrain: (() => void) | null = null;
  readonly #room: KeepingShare;
  /** One block that grows: a body that comes byte by byte costs no more than its bytes. */
  #kept: Buffer | null = null;
  #keptBytes = 0;
  #isKeeping = true;
  /** Bytes that have arrived and that the current receiver has not got yet. */
  #waiting: Buffer[] = [];
  #to: BodyWriter | null = null;
  #isHeld = false;
  #ended: { readonly trailers: HeaderList | null } | null = null;
  #isEndGiven = false;
  #failure: Error | null = null;

  constructor(room: KeepingShare) {
    this.#room = room;
  }

  /** True while all that has gone out could go out again. */
  get isRepeatable(): boolean {
    return this.#isKeeping;
  }

  /** Where the first try takes it. */
  sendTo(to: BodyWriter): void {
    this.#to = to;
    to.onDrain = () => this.#pour();
  }

  /** Nothing more is given on: the client waits until it is known whether there is a second try. */
  hold(): void {
    this.#isHeld = true;
  }

  /** There is none: it goes on where it stopped. */
  goOn(): void {
    this.#isHeld = false;
    if (this.#to !== null) this.#pour();
  }

  /** There is one: it begins at the beginning. */
  sendAgainTo(to: BodyWriter): void {
    if (this.#kept !== null) this.#waiting.unshift(this.#kept.subarray(0, this.#keptBytes));
    this.#kept = null;
    this.#isKeeping = false;
    this.#isHeld = false;
    this.#isEndGiven = false;
    this.sendTo(to);
    this.#pour();
  }

  /** It will not go out again: what was kept is given up. */
  letGo(): void {
    this.#isKeeping = false;
    this.#kept = null;
    this.#room.giveBack(this.#keptBytes);
    this.#keptBytes = 0;
  }

  // From the client.

  write(chunk: Buffer): boolean {
    if (this.#isHeld || this.#waiting.length > 0) {
      this.#waiting.push(chunk);
      return false;
    }
    if (this.#isKeeping) this.#keep(chunk);
    return this.#to!.write(chunk);
  }

  flush(): void {
    if (!this.#isHeld) this.#to?.flush();
  }

  end(trailers: HeaderList | null): void {
    this.#ended = { trailers };
    if (!this.#isHeld && this.#waiting.length === 0) this.#giveEnd();
  }

  fail(reason: Error): void {
    this.#failure ??= reason;
    if (!this.#isHeld) this.#to?.fail(reason);
  }

  /** Passes on what waits, at the receiver's pace; then the client may send more. */
  #pour(): void {
    if (this.#isHeld) return;
    const to = this.#to!;
    if (this.#failure !== null) {
      to.fail(this.#failure);
      return;
    }
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      if (!to.write(chunk)) {
        // The end, should it be next, needs no room.
        if (this.#waiting.length === 0 && this.#ended !== null) this.#giveEnd();
        return;
      }
    }
    if (this.#ended === null) this.onDrain?.();
    else this.#giveEnd();
  }

  #giveEnd(): void {
    if (this.#isEndGiven) return;
    this.#isEndGiven = true;
    this.#to!.end(this.#ended!.trailers);
  }

  #keep(chunk: Buffer): void {
    const bytes = this.#keptBytes + chunk.length;
    if (bytes > maxKeptBytes || !this.#room.take(chunk.length)) {
      this.letGo();
      return;
    }
    if (this.#kept === null || this.#kept.length < bytes) {
      const grown = Buffer.allocUnsafeSlow(Math.max(bytes, (this.#kept?.length ?? 0) * 2, firstBlockBytes));
      this.#kept?.copy(grown, 0, 0, this.#keptBytes);
      this.#kept = grown;
    }
    chunk.copy(this.#kept, this.#keptBytes);
    this.#keptBytes = bytes;
  }
}
