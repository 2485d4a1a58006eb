// Leases of rates that another process counts: draws what will soon be used in one go and answers from that, so that most
// requests need not wait. Never grants what was not drawn, and gives back what is not used. While the source is away, each
// process has its share of the rate. A caller that cannot wait for an answer (`takeNow`) is served from two halves: one is
// divided among the processes for good, the other is drawn in advance.
import type { MeterRate, WaitMs } from '../../path/shared-store.ts';
import { LocalMeters } from './local-meters.ts';
import type { QuotaSource, SourceState } from './quota-source.ts';

/** A lease is at most a tenth of the burst, so that something is left for other processes. */
const partOfBurst = 10;
const idleMs = 2000;

interface Waiting {
  readonly amount: number;
  readonly resolve: (waitMs: WaitMs) => void;
}

interface Lease {
  rate: MeterRate;
  left: number;
  /** In this second, and in the one before. */
  used: number;
  usedBefore: number;
  usedAtMs: number;
  refusedUntilMs: number;
  asking: boolean;
  waiting: Waiting[];
}

export class RateLeases {
  readonly #source: QuotaSource;
  readonly #state: SourceState;
  readonly #leases = new Map<string, Lease>();
  readonly #share: LocalMeters;
  /** This process's part of the half that is divided. */
  readonly #part: LocalMeters;

  constructor(source: QuotaSource, state: SourceState) {
    this.#source = source;
    this.#state = state;
    this.#share = new LocalMeters(state.now);
    this.#part = new LocalMeters(state.now);
  }

  get size(): number {
    return this.#leases.size;
  }

  take(key: string, rate: MeterRate, amount = 1): WaitMs | Promise<WaitMs> {
    const lease = this.#leaseOf(key, rate);
    if (lease.waiting.length === 0 && lease.left >= amount) {
      this.#use(key, lease, amount);
      const block = blockOf(lease);
      // Before it is empty: the next requests should not have to wait either.
      if (block > 1 && lease.left < block / 2 && !lease.asking && !this.#state.away()) this.#ask(key, lease);
      return 0;
    }
    if (this.#state.away()) return this.#takeShare(key, rate, amount);
    const refusedMs = lease.refusedUntilMs - this.#state.now();
    if (refusedMs > 0) return Math.ceil(refusedMs);
    return new Promise((resolve) => {
      lease.waiting.push({ amount, resolve });
      if (!lease.asking) this.#ask(key, lease);
    });
  }

  takeNow(key: string, rate: MeterRate): WaitMs {
    const half = { perSecond: rate.perSecond / 2, burst: rate.burst / 2 };
    const part = shareOf(half, this.#state.peers());
    const waitMs = this.#part.take(key, part);
    // While there is some of it: in a moment there will be more.
    if (this.#part.left(key, part) < part.burst / 2) this.#drawAhead(key, half);
    const lease = this.#leases.get(key);
    if (waitMs === 0 || lease === undefined || lease.left < 1) return waitMs;
    this.#use(key, lease, 1);
    return 0;
  }

  #drawAhead(key: string, half: MeterRate): void {
    const lease = this.#leaseOf(key, half);
    if (lease.asking || lease.refusedUntilMs > this.#state.now() || this.#state.away()) return;
    const enough = Math.max(1, Math.floor(half.burst / partOfBurst));
    if (lease.left < enough) this.#ask(key, lease, enough);
  }

  /** Once a second: gives back what was not used, and forgets what nobody asks for. */
  tick(): void {
    const nowMs = this.#state.now();
    for (const [key, lease] of this.#leases) {
      lease.usedBefore = lease.used;
      lease.used = 0;
      if (lease.asking || lease.waiting.length > 0) continue;
      const idle = nowMs - lease.usedAtMs >= idleMs;
      const kept = idle ? 0 : blockOf(lease);
      if (idle || lease.left > 2 * kept) this.#giveBack(key, lease, lease.left - kept);
      if (idle && lease.refusedUntilMs <= nowMs) this.#leases.delete(key);
    }
  }

  /** Gives up what is not used, to whoever calls it back. */
  recall(key: string): number {
    const lease = this.#leases.get(key);
    if (lease === undefined || lease.waiting.length > 0) return 0;
    const unused = Math.floor(lease.left);
    lease.left -= unused;
    return unused;
  }

  close(): void {
    for (const [key, lease] of this.#leases) this.#giveBack(key, lease, lease.left);
    this.#leases.clear();
  }

  #leaseOf(key: string, rate: MeterRate): Lease {
    const lease = this.#leases.get(key);
    if (lease === undefined) {
      const none = { left: 0, used: 0, usedBefore: 0, refusedUntilMs: 0, asking: false };
      const fresh = { ...none, rate, usedAtMs: this.#state.now(), waiting: [] };
      this.#leases.set(key, fresh);
      return fresh;
    }
    if (lease.rate.perSecond !== rate.perSecond || lease.rate.burst !== rate.burst) {
      this.#giveBack(key, lease, lease.left);
      lease.rate = rate;
      lease.refusedUntilMs = 0;
    }
    return lease;
  }

  #use(key: string, lease: Lease, amount: number): void {
    this.#countInShare(key, lease.rate, amount);
    lease.left -= amount;
    lease.used += amount;
    lease.usedAtMs = this.#state.now();
  }

  #giveBack(key: string, lease: Lease, amount: number): void {
    if (amount <= 0) return;
    lease.left -= amount;
    if (!this.#state.away()) this.#source.giveBack(key, lease.rate, amount);
  }

  /** One question at a time for a key: whoever comes meanwhile waits for it, and asks the next one. */
  #ask(key: string, lease: Lease, ahead = blockOf(lease)): void {
    lease.asking = true;
    const { rate } = lease;
    const needed = lease.waiting.reduce((sum, { amount }) => sum + amount, 0);
    const least = Math.max(1, (lease.waiting[0]?.amount ?? 1) - lease.left);
    const wanted = Math.max(least, needed - lease.left + ahead);
    this.#source.draw(key, rate, least, wanted).then(
      ({ granted, waitMs }) => {
        lease.asking = false;
        lease.left += granted;
        if (granted === 0) this.#countInShare(key, rate, rate.burst);
        if (lease.rate !== rate) this.#giveBack(key, lease, lease.left);
        else if (granted < wanted) lease.refusedUntilMs = this.#state.now() + Math.max(1, waitMs);
        this.#serve(key, lease, Math.max(1, waitMs), granted >= wanted);
      },
      () => {
        lease.asking = false;
        for (const { amount, resolve } of lease.waiting.splice(0)) resolve(this.#takeShare(key, rate, amount));
      },
    );
  }

  /** In the order in which they came. `more`: there may be something for those that came after the question. */
  #serve(key: string, lease: Lease, waitMs: WaitMs, more: boolean): void {
    let served = 0;
    for (const { amount, resolve } of lease.waiting) {
      if (lease.left < amount) break;
      this.#use(key, lease, amount);
      resolve(0);
      served++;
    }
    lease.waiting.splice(0, served);
    if (lease.waiting.length === 0) return;
    if (more) this.#ask(key, lease);
    else for (const { resolve } of lease.waiting.splice(0)) resolve(waitMs);
  }

  /** A share begins where the lease ended: a source that goes away must not mean a second burst. Never leaves a debt. */
  #countInShare(key: string, rate: MeterRate, amount: number): void {
    const share = shareOf(rate, this.#state.peers());
    this.#share.spend(key, share, Math.min(amount, Math.max(0, this.#share.left(key, share))));
  }

  #takeShare(key: string, rate: MeterRate, amount: number): WaitMs {
    return this.#share.take(key, shareOf(rate, this.#state.peers()), amount);
  }
}

/** Of what all have together, the part of one of them. */
export function shareOf({ perSecond, burst }: MeterRate, peers: number): MeterRate {
  const among = Math.max(1, peers);
  return { perSecond: perSecond / among, burst: Math.max(1, burst / among) };
}

/** What a second takes, going by the last two. Of a small burst nothing is drawn ahead: other processes would miss it. */
function blockOf({ rate, used, usedBefore }: Lease): number {
  return Math.min(Math.floor(Math.max(used, usedBefore)), Math.floor(rate.burst / partOfBurst));
}
