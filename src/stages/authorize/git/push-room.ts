// What the pushes of a sandbox may cost together, and those of all sandboxes: memory at a time, and work by and by. One
// sandbox cannot use up what the gateway has for judging, nor fill its heap.
import { getHeapStatistics } from 'node:v8';
import { type Charged, OverBudget, WorkBudget } from '../../../protocols/git/objects/work-budget.ts';

const gib = 1024 ** 3;
/** Work of a sandbox in one go: two pushes of the largest kind. */
const shareBytes = 16 * gib;
/** How fast it comes back. The worst packs we wrote take some four seconds of a processor for each GiB. */
const bytesPerSecond = 32 * 1024 ** 2;

interface Share {
  held: number;
  left: number;
  at: number;
  pushes: number;
}

export interface PushRoomOptions {
  /** Memory for judging, in all. */
  readonly maxHeldBytes: number;
  readonly shareBytes: number;
  readonly bytesPerSecond: number;
  readonly now: () => number;
}

export class PushRoom {
  readonly #options: PushRoomOptions;
  readonly #shares = new Map<string, Share>();
  #held = 0;

  constructor(options: Partial<PushRoomOptions> = {}) {
    // Half the heap: requests need the rest.
    const maxHeldBytes = Math.min(gib, Math.floor(getHeapStatistics().heap_size_limit / 2));
    this.#options = { maxHeldBytes, shareBytes, bytesPerSecond, now: () => performance.now(), ...options };
  }

  /** All that is held now. */
  get heldBytes(): number {
    return this.#held;
  }

  /** The budget of one push; to be closed when it is over. Throws OverBudget while the sandbox has no work left. */
  open(sandboxId: string): WorkBudget {
    const share = this.#shareOf(sandboxId);
    if (share.left <= 0) throw this.#usedUp(share);
    return this.#budgetFrom(share);
  }

  /** The same for reading its commands alone, which must be known before it can be refused in words of git. */
  openForCommands(sandboxId: string): WorkBudget {
    return this.#budgetFrom(this.#shareOf(sandboxId));
  }

  #shareOf(sandboxId: string): Share {
    this.#forget();
    const share = this.#shares.get(sandboxId) ?? {
      held: 0,
      left: this.#options.shareBytes,
      at: this.#options.now(),
      pushes: 0,
    };
    this.#refill(share);
    this.#shares.set(sandboxId, share);
    return share;
  }

  #budgetFrom(share: Share): WorkBudget {
    share.pushes++;
    const mostOfOne = this.#options.maxHeldBytes / 2;
    const charged: Charged = {
      spend: (bytes) => {
        share.left -= bytes;
        if (share.left < 0) throw this.#usedUp(share);
      },
      hold: (bytes) => {
        if (share.held + bytes > mostOfOne || this.#held + bytes > this.#options.maxHeldBytes) {
          throw new OverBudget('the pushes that are being judged leave no memory for this one', 10);
        }
        share.held += bytes;
        this.#held += bytes;
      },
      release: (bytes) => {
        share.held -= bytes;
        this.#held -= bytes;
      },
    };
    return new PushBudget({ maxHeldBytes: Math.floor(mostOfOne * 0.75) }, charged, () => share.pushes--);
  }

  #usedUp(share: Share): OverBudget {
    const seconds = Math.max(
      1,
      Math.ceil((this.#options.shareBytes / 100 - share.left) / this.#options.bytesPerSecond),
    );
    return new OverBudget('the pushes of this sandbox have used up the work that judging them may take', seconds);
  }

  #refill(share: Share): void {
    const now = this.#options.now();
    const more = ((now - share.at) / 1000) * this.#options.bytesPerSecond;
    share.left = Math.min(this.#options.shareBytes, share.left + more);
    share.at = now;
  }

  /** Who has all of its share again and pushes nothing need not be remembered. */
  #forget(): void {
    if (this.#shares.size < 1000) return;
    for (const [id, share] of this.#shares) {
      this.#refill(share);
      if (share.pushes === 0 && share.left >= this.#options.shareBytes) this.#shares.delete(id);
    }
  }
}

class PushBudget extends WorkBudget {
  #onClose: (() => void) | null;

  constructor(limits: { readonly maxHeldBytes: number }, above: Charged, onClose: () => void) {
    super(limits, above);
    this.#onClose = onClose;
  }

  override close(): void {
    super.close();
    this.#onClose?.();
    this.#onClose = null;
  }
}
