// An exchange whose heads and bodies are counted, both ways and in every form they travel in (HTTP/1.1, HTTP/2, tunnel, WebSocket):
// when the limit is used up it pauses the source until there is room again, so that streams slow down and do not break. An
// answer over its size limit is cut off visibly. Only used where such a limit is set.
import type { BodyWriter, Exchange, ResponseHead } from '../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../path/exchange/exchange-view.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { MeterRate, SharedMeters, WaitMs } from '../../../path/shared-store.ts';
import { answerTooLong } from './limit-refusals.ts';

/** The meters of one scope for the bytes of a request. Null: not limited. */
export interface Share {
  readonly up: string;
  readonly upRate: MeterRate | null;
  readonly down: string;
  readonly downRate: MeterRate | null;
}

/** One way of one exchange: all the meters that its bytes count on. Null: none. */
interface Lane {
  spend(bytes: number): void;
  debtMs(): WaitMs;
}

export interface Pace {
  readonly up: Lane | null;
  readonly down: Lane | null;
  /** 0: no limit. */
  readonly maxAnswerBytes: number;
  readonly isOver: boolean;
  readonly heldBackUntilMs: number;
  pause(writer: PacedWriter): void;
  resume(writer: PacedWriter): void;
  /** The flow is over: nothing waits any more. */
  stop(): void;
}

/** So that a changed limit is noticed, and a debt that somebody else paid. */
const maxNapMs = 1000;

export function openPace(meters: SharedMeters, shares: readonly Share[], maxAnswerBytes: number): Pace {
  const paused = new Set<PacedWriter>();
  let isOver = false;
  let heldBackUntilMs = Number.NEGATIVE_INFINITY;
  const up = laneOf(
    meters,
    shares.map((share) => [share.up, share.upRate]),
  );
  const down = laneOf(
    meters,
    shares.map((share) => [share.down, share.downRate]),
  );
  return {
    up,
    down,
    maxAnswerBytes,
    get isOver() {
      return isOver;
    },
    get heldBackUntilMs() {
      return paused.size > 0 ? Number.POSITIVE_INFINITY : heldBackUntilMs;
    },
    pause: (writer) => paused.add(writer),
    resume(writer) {
      if (paused.delete(writer)) heldBackUntilMs = performance.now();
    },
    stop() {
      isOver = true;
      for (const writer of paused) writer.stop();
    },
  };
}

function laneOf(meters: SharedMeters, all: readonly (readonly [string, MeterRate | null])[]): Lane | null {
  const limited = all.filter((one): one is [string, MeterRate] => one[1] !== null);
  if (limited.length === 0) return null;
  return {
    spend(bytes) {
      for (const [key, rate] of limited) meters.spend(key, rate, bytes);
    },
    debtMs: () => limited.reduce((longest, [key, rate]) => Math.max(longest, meters.debtMs(key, rate)), 0),
  };
}

export class PacedExchange extends ExchangeView {
  readonly #pace: Pace;

  constructor(inner: Exchange, pace: Pace) {
    super(inner);
    this.#pace = pace;
  }

  override get heldBackUntilMs(): number {
    return Math.max(super.heldBackUntilMs, this.#pace.heldBackUntilMs);
  }

  override sendBody(to: BodyWriter): void {
    this.inner.sendBody(this.#paced(to, this.#pace.up));
  }

  override inform(status: number, headers: HeaderList): void {
    this.#pace.down?.spend(headers.bytes);
    this.inner.inform(status, headers);
  }

  override respond(head: ResponseHead): BodyWriter {
    const { maxAnswerBytes, down } = this.#pace;
    down?.spend(head.headers.bytes);
    if (maxAnswerBytes === 0 || head.framing.kind === 'none') return this.#paced(this.inner.respond(head), down);
    // Before anything is sent: then it can still be said in words.
    if (announcedBytes(head) > maxAnswerBytes) throw answerTooLong(maxAnswerBytes);
    return new PacedWriter(this.inner.respond(head), down, this.#pace, maxAnswerBytes);
  }

  override goRaw(to: BodyWriter): BodyWriter {
    return this.#paced(this.inner.goRaw(this.#paced(to, this.#pace.up)), this.#pace.down);
  }

  #paced(to: BodyWriter, lane: Lane | null): BodyWriter {
    return lane === null ? to : new PacedWriter(to, lane, this.#pace, Number.POSITIVE_INFINITY);
  }
}

/** An answer that came over HTTP/2 tells its length only in a field. */
function announcedBytes({ framing, headers }: ResponseHead): number {
  if (framing.kind === 'length') return framing.bytes;
  const told = headers.get('content-length');
  return told !== undefined && /^\d{1,15}$/.test(told) ? Number(told) : 0;
}

class PacedWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly #to: BodyWriter;
  readonly #lane: Lane | null;
  readonly #pace: Pace;
  #leftBytes: number;
  #isFull = false;
  #nap: NodeJS.Timeout | null = null;

  constructor(to: BodyWriter, lane: Lane | null, pace: Pace, maxBytes: number) {
    this.#to = to;
    this.#lane = lane;
    this.#pace = pace;
    this.#leftBytes = maxBytes;
    to.onDrain = () => {
      this.#isFull = false;
      if (this.#nap === null) this.onDrain?.();
    };
  }

  /** What has come is passed on, whatever is left: only what comes after it waits. Throws at an answer that is too long. */
  write(chunk: Buffer): boolean {
    this.#leftBytes -= chunk.length;
    // Whoever relays it breaks it off: the client never gets an end.
    if (this.#leftBytes < 0) throw answerTooLong(this.#pace.maxAnswerBytes);
    this.#isFull = !this.#to.write(chunk);
    this.#lane?.spend(chunk.length);
    if (this.#nap === null) this.#rest();
    return this.#nap === null && !this.#isFull;
  }

  flush(): void {
    this.#to.flush();
  }

  end(trailers: HeaderList | null): void {
    this.stop();
    if (trailers !== null) this.#lane?.spend(trailers.bytes);
    this.#to.end(trailers);
  }

  fail(reason: Error): void {
    this.stop();
    this.#to.fail(reason);
  }

  stop(): void {
    if (this.#nap !== null) clearTimeout(this.#nap);
    this.#nap = null;
    this.#pace.resume(this);
  }

  #rest(): void {
    const waitMs = this.#pace.isOver ? 0 : (this.#lane?.debtMs() ?? 0);
    if (waitMs <= 0) return;
    this.#pace.pause(this);
    this.#nap = setTimeout(() => this.#wake(), Math.min(Math.ceil(waitMs), maxNapMs));
  }

  #wake(): void {
    this.stop();
    this.#rest();
    if (this.#nap === null && !this.#isFull) this.onDrain?.();
  }
}
