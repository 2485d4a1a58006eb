// Whether the other process still answers. Asked every second; who has not answered a question for five is silent, however
// alive its sockets look: a process that is stopped keeps them all.

export interface HeartbeatOptions {
  readonly ask: () => Promise<unknown>;
  readonly everyMs?: number;
  readonly silentAfterMs?: number;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #now: () => number;
  readonly #silentAfterMs: number;
  readonly #timer: NodeJS.Timeout;
  /** When the question was put that is not answered yet. */
  #askedAtMs: number | null = null;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#silentAfterMs = options.silentAfterMs ?? 5_000;
    this.#timer = setInterval(() => this.beat(), options.everyMs ?? 1_000).unref();
  }

  readonly isSilent = (): boolean => this.#askedAtMs !== null && this.#now() - this.#askedAtMs > this.#silentAfterMs;

  /** One question at a time: a second would say no more. */
  beat(): void {
    if (this.#askedAtMs !== null) return;
    this.#askedAtMs = this.#now();
    this.#options.ask().then(
      () => {
        this.#askedAtMs = null;
      },
      () => {},
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
