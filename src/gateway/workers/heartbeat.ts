// Whether the other process still answers. Asked every second; who has not answered a question for five is silent, however
// alive its sockets look: a process that is stopped keeps them all.

export interface HeartbeatOptions {
  readonly everyMs?: number;
  readonly silentAfterMs?: number;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

export class Heartbeat {
  readonly #now: () => number;
  readonly #silentAfterMs: number;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | null = null;
  /** When the question was put that is not answered yet. */
  #askedAtMs: number | null = null;

  constructor(options: HeartbeatOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#silentAfterMs = options.silentAfterMs ?? 5_000;
    this.#everyMs = options.everyMs ?? 1_000;
  }

  readonly isSilent = (): boolean => this.#askedAtMs !== null && this.#now() - this.#askedAtMs > this.#silentAfterMs;

  start(ask: () => Promise<unknown>): void {
    this.#timer ??= setInterval(() => this.beat(ask), this.#everyMs).unref();
  }

  /** One question at a time: a second would say no more. */
  beat(ask: () => Promise<unknown>): void {
    if (this.#askedAtMs !== null) return;
    this.#askedAtMs = this.#now();
    ask().then(
      () => {
        this.#askedAtMs = null;
      },
      () => {},
    );
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
