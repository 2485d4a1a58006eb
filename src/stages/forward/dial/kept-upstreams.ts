// Connections to upstreams that nobody uses at the moment: how many one sandbox may keep, and all together. With a wildcard rule
// a sandbox can think up hosts without end, and each open connection is a file descriptor of the gateway. When
// there are too many, the sandbox that keeps most loses its oldest one: nobody loses theirs to another who has more.

export interface KeptUpstream {
  /** Of whom it is; set for good. */
  readonly sandboxId: string;
  /** It is not needed any more. */
  letGo(): void;
}

const mostOfSandbox = 256;

export class KeptUpstreams {
  readonly #most: number;
  /** In the order in which they came to rest. */
  readonly #bySandbox = new Map<string, Set<KeptUpstream>>();
  #count = 0;

  /** `most`: of all sandboxes together. */
  constructor(most = 4096) {
    this.#most = most;
  }

  get size(): number {
    return this.#count;
  }

  add(kept: KeptUpstream): void {
    let own = this.#bySandbox.get(kept.sandboxId);
    if (own === undefined) {
      own = new Set();
      this.#bySandbox.set(kept.sandboxId, own);
    }
    if (own.has(kept)) return;
    own.add(kept);
    this.#count++;
    if (own.size > mostOfSandbox) this.#endOldest(own);
    if (this.#count > this.#most) this.#endOldest(this.#largest());
  }

  /** It is in use, or gone. */
  delete(kept: KeptUpstream): void {
    const own = this.#bySandbox.get(kept.sandboxId);
    if (own === undefined || !own.delete(kept)) return;
    this.#count--;
    if (own.size === 0) this.#bySandbox.delete(kept.sandboxId);
  }

  #endOldest([oldest]: Set<KeptUpstream>): void {
    if (oldest === undefined) return;
    this.delete(oldest);
    oldest.letGo();
  }

  #largest(): Set<KeptUpstream> {
    let largest = new Set<KeptUpstream>();
    for (const own of this.#bySandbox.values()) if (own.size > largest.size) largest = own;
    return largest;
  }
}
