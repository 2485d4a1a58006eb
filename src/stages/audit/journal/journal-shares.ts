// How many bytes of the journal each sandbox may fill in a day, so that none pushes out the evidence of the others: one share
// for what was served, a smaller one beside it for refusals, and one of those for all callers that nobody knows. Only counts.
export interface JournalSharesOptions {
  /** Of one sandbox; 0: no limit. Asked each time, so that a reload holds at once. */
  readonly bytesPerDay: () => number;
  /** How much of what the journal may take is left, from 1 to 0. When it gets little, shares do too. */
  readonly room: () => number;
  readonly now?: () => number;
}

/** A sandbox that has used up its share waits until this much is free again, so that it is not allowed and refused in turns. */
const resumeBytes = 16 * 1024;
/** Of the share of a sandbox. Refusals cost it nothing, so they have less. */
const refusedPart = 1 / 8;
/** Below half of the room shares shrink with it, but never to nothing. */
const leastScale = 1 / 64;
const dayMs = 86_400_000;
const roomKnownForMs = 1000;
const reportAgainMs = 1000;

interface Share {
  spent: number;
  atMs: number;
  isOver: boolean;
}

export class JournalShares {
  /** The sandboxes that are over their share, or no longer: called when that changes. */
  onChange: (() => void) | null = null;
  readonly #options: JournalSharesOptions;
  readonly #now: () => number;
  readonly #served = new Map<string, Share>();
  readonly #refused = new Map<string | null, Share>();
  #scale = 1;
  #scaleAtMs = Number.NEGATIVE_INFINITY;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: JournalSharesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** How long a sandbox must wait before it is served again; 0: it need not. On the path of every request. */
  waitMs(sandbox: string): number {
    const share = this.#served.get(sandbox);
    if (share?.isOver !== true) return 0;
    const perDay = this.#perDay();
    if (perDay === 0) return 0;
    this.#refill(share, perDay);
    const missing = share.spent - (perDay - Math.min(resumeBytes, perDay / 2));
    if (missing > 0) return Math.max(1, (missing / perDay) * dayMs);
    share.isOver = false;
    this.onChange?.();
    return 0;
  }

  /** Those that must wait, and how long. */
  get over(): readonly (readonly [sandbox: string, waitMs: number])[] {
    const found: [string, number][] = [];
    for (const [sandbox, share] of this.#served) if (share.isOver) found.push([sandbox, this.waitMs(sandbox)]);
    return found.filter(([, waitMs]) => waitMs > 0);
  }

  /** Something was served and written down. Always: it was served. */
  spendServed(sandbox: string, bytes: number): void {
    const perDay = this.#perDay();
    if (perDay === 0) return;
    const share = this.#spend(this.#served, sandbox, bytes, perDay);
    if (share.spent < perDay) return;
    const nowMs = this.#now();
    // Served although its share is used up: another process knew of a shorter wait, or it has waited and used it up again.
    if (share.isOver && nowMs - this.#reportedAtMs < reportAgainMs) return;
    share.isOver = true;
    this.#reportedAtMs = nowMs;
    this.onChange?.();
  }

  /** Whether a refusal may have a record of its own. Null: of a caller that nobody knows. */
  mayWrite(sandbox: string | null): boolean {
    const perDay = this.#perDay() * refusedPart;
    const share = this.#refused.get(sandbox);
    if (perDay === 0 || share === undefined) return true;
    this.#refill(share, perDay);
    return share.spent < perDay;
  }

  spendRefused(sandbox: string | null, bytes: number): void {
    const perDay = this.#perDay() * refusedPart;
    if (perDay > 0) this.#spend(this.#refused, sandbox, bytes, perDay);
  }

  /** The policy may say another size now. */
  configure(): void {
    this.sweep();
    this.onChange?.();
  }

  /** Now and then: forgets who has all of its share again, and notices who may go on. */
  sweep(): void {
    const perDay = this.#perDay();
    for (const sandbox of [...this.#served.keys()]) this.waitMs(sandbox);
    for (const [shares, most] of [
      [this.#served, perDay],
      [this.#refused, perDay * refusedPart],
    ] as const) {
      for (const [sandbox, share] of shares as Map<string | null, Share>) {
        this.#refill(share, most);
        if (share.spent === 0 && !share.isOver) (shares as Map<string | null, Share>).delete(sandbox);
      }
    }
  }

  #spend<K>(shares: Map<K, Share>, who: K, bytes: number, perDay: number): Share {
    let share = shares.get(who);
    if (share === undefined) {
      share = { spent: 0, atMs: this.#now(), isOver: false };
      shares.set(who, share);
    }
    this.#refill(share, perDay);
    share.spent += bytes;
    return share;
  }

  #refill(share: Share, perDay: number): void {
    const nowMs = this.#now();
    share.spent = Math.max(0, share.spent - ((nowMs - share.atMs) / dayMs) * perDay);
    share.atMs = nowMs;
  }

  #perDay(): number {
    const nowMs = this.#now();
    if (nowMs - this.#scaleAtMs >= roomKnownForMs) {
      this.#scaleAtMs = nowMs;
      // Its square: in proportion alone, what is left would be halved again and again until nothing is.
      this.#scale = Math.max(leastScale, Math.min(1, (this.#options.room() * 2) ** 2));
    }
    return this.#options.bytesPerDay() * this.#scale;
  }
}
