// What gateways, and the worker processes of one gateway, know together: registrations, limits, budgets, locks and short-lived
// values. Implemented in `store/` (embedded, Redis, and a worker's view of its own gateway); the stages use it through this
// shape. Whatever can be answered from memory is answered at once: only what must be asked elsewhere is a promise.

export interface SharedStore {
  /** For people: `embedded`, `redis://redis.example.com:6379/0`. */
  readonly name: string;
  /** Set while it does not answer. */
  readonly away: StoreAway | null;
  /** How many gateways have it, this one among them, as last known. */
  readonly gateways: number;
  readonly registrations: RegistrationStore;
  readonly meters: SharedMeters;
  readonly tallies: SharedTallies;
  readonly vault: SharedVault;
  readonly locks: SharedLocks;
  /** Called when `away` changes. Returns how to stop listening. */
  onAway(listener: (away: StoreAway | null) => void): () => void;
  close(): Promise<void>;
}

export interface StoreAway {
  /** By the clock of `performance.now()`. */
  readonly sinceMs: number;
  readonly reason: string;
}

/** The store is away or refused; nothing was changed that anybody could rely on. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

export interface StoredRegistration {
  readonly id: string;
  /** What no other live registration may have: `id NAME`, `ip ADDRESS`, `container ID`. */
  readonly claims: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** JSON; means something to the registry alone. Never a secret in clear: hashes. */
  readonly body: string;
}

export type RegistrationChange =
  | { readonly kind: 'put'; readonly registration: StoredRegistration }
  | { readonly kind: 'gone'; readonly id: string }
  /** Everything there is: after a time in which changes may have been missed. */
  | { readonly kind: 'all'; readonly registrations: readonly StoredRegistration[] };

export interface ClaimTaken {
  readonly claim: string;
  /** The id of the registration that has it. */
  readonly holder: string;
}

/** All rejections are StoreUnavailable, or say themselves what the operator must do. */
export interface RegistrationStore {
  load(): Promise<readonly StoredRegistration[]>;
  /** Resolves when it is kept and, as far as they are live, every other gateway and worker knows it; else with what is in the way. */
  add(registration: StoredRegistration): Promise<ClaimTaken | null>;
  /** The same sandbox, with a later end or more known of it. False: it is gone. */
  replace(registration: StoredRegistration): Promise<boolean>;
  /** Resolves when every other live gateway and worker has let go of it too. Names those of whom that is not known. */
  remove(id: string): Promise<{ readonly unconfirmed: readonly string[] }>;
  /** Renewals by traffic: written soon, never shortened, never of one that is gone. */
  extend(id: string, expiresAtMs: number): void;
  /** What others change. One listener. Where it returns a promise, the change holds here when that resolves. */
  watch(listener: (change: RegistrationChange) => unknown): void;
}

export interface MeterRate {
  readonly perSecond: number;
  /** How much there is after a quiet time. */
  readonly burst: number;
}

/** 0: granted. Else how many milliseconds to wait before it is worth asking again. */
export type WaitMs = number;

/**
 * Never more is granted to all together than the rate says. Where the store is elsewhere, each process takes its share in
 * advance, so that most answers are immediate; while the store is away, each has its share of the rate.
 */
export interface SharedMeters {
  take(key: string, rate: MeterRate, amount?: number): WaitMs | Promise<WaitMs>;
  /** One, of what cannot wait for an answer. Where several processes share the rate, half of it is parted among them. */
  takeNow(key: string, rate: MeterRate): WaitMs;
  /** For bytes, which come before they can be refused: may go into debt, which the next ones wait for. */
  spend(key: string, rate: MeterRate, amount: number): void;
  /** How long until the debt of `spend` is paid, as far as this process knows. */
  debtMs(key: string, rate: MeterRate): WaitMs;
  /** A place among `limit`: to be given back with `release`. What a process that died had, comes back by itself. */
  hold(key: string, limit: number): WaitMs | Promise<WaitMs>;
  release(key: string): void;
}

/** Sums that begin anew with each period: `key` names the period too. */
export interface SharedTallies {
  /** Counted here at once and told soon. */
  add(key: string, amount: number, keepMs: number): void;
  /** Was counted here before this process began: never counted twice where it is still known. */
  recall(key: string, amount: number, keepMs: number): void;
  /** With what others have told; a second old at most while the store answers. */
  total(key: string): number | Promise<number>;
}

/** Short-lived values. Whatever leaves this process is sealed first. */
export interface SharedVault {
  put(key: string, value: Buffer, keepMs: number): Promise<void>;
  get(key: string): Promise<Buffer | null>;
  remove(key: string): Promise<void>;
}

export interface SharedLocks {
  /** One at a time in all gateways. Rejects with StoreUnavailable when it was not had within `waitMs`. */
  exclusively<T>(name: string, waitMs: number, act: () => Promise<T>): Promise<T>;
}
