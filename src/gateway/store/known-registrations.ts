// What one gateway knows of the registrations that all share: for each the newest version it has seen, and for those that
// are gone the version they went with, until they would have expired. An older version is never believed again, wherever
// it comes from: so a removed registration that is put back into the store opens nothing. Pure: no I/O, no clock of its own.
import { NewestMap } from '../../kit/newest-map.ts';
import type { StoredRegistration } from '../../path/shared-store.ts';

export interface VersionedRegistration {
  readonly version: number;
  readonly registration: StoredRegistration;
}

interface Gone {
  readonly version: number;
  readonly untilMs: number;
}

/** `revoked`: it is older than its removal, so somebody has put it back. */
export type PutOutcome =
  | { readonly kind: 'new'; readonly displaced: readonly string[] }
  | { readonly kind: 'known' | 'revoked' };

/** For the removal of what was never seen: the usual life of a registration. */
const usualLifeMs = 24 * 3600_000;
/** Clocks differ: what is over is remembered a little longer. */
const marginMs = 600_000;
const mostGone = 200_000;

export class KnownRegistrations {
  readonly #live = new Map<string, VersionedRegistration>();
  readonly #holders = new Map<string, string>();
  readonly #gone = new NewestMap<string, Gone>(mostGone);

  get size(): number {
    return this.#live.size;
  }

  find(id: string): VersionedRegistration | undefined {
    return this.#live.get(id);
  }

  /** In the order of their versions: those who came first, first. */
  list(): VersionedRegistration[] {
    return [...this.#live.values()].sort((a, b) => a.version - b.version);
  }

  /** Removals newer than `version`: to be written again to a store that has fallen back to it. */
  goneSince(version: number): { id: string; version: number }[] {
    const gone = [...this.#gone].map(([id, one]) => ({ id, version: one.version }));
    return gone.filter((one) => one.version > version);
  }

  /** Whoever holds a claim of a newer one has lost it: the store gives a claim to one at a time. */
  put(given: VersionedRegistration): PutOutcome {
    const { version, registration } = given;
    const { id, claims } = registration;
    if (version <= (this.#gone.get(id)?.version ?? 0)) return { kind: 'revoked' };
    if (version <= (this.#live.get(id)?.version ?? 0)) return { kind: 'known' };
    const rivals = new Set(claims.map((claim) => this.#holders.get(claim)).filter((holder) => holder !== undefined));
    rivals.delete(id);
    for (const rival of rivals) if (this.#live.get(rival)!.version > version) return { kind: 'known' };
    for (const rival of rivals) this.forget(rival);
    this.forget(id);
    this.#live.set(id, given);
    for (const claim of claims) this.#holders.set(claim, id);
    return { kind: 'new', displaced: [...rivals] };
  }

  /** False: a newer one of that id is live, or nobody knew it. */
  remove(id: string, version: number, nowMs: number): boolean {
    const live = this.#live.get(id);
    if (live !== undefined && live.version > version) return false;
    const untilMs = Math.max(live?.registration.expiresAtMs ?? 0, nowMs + usualLifeMs) + marginMs;
    if (version > this.goneWith(id)) this.#gone.set(id, { version, untilMs });
    return this.forget(id);
  }

  /** False: it went since, or a later one has taken its place. */
  isStill({ version, registration: { id } }: VersionedRegistration): boolean {
    return (this.#live.get(id)?.version ?? 0) >= version && this.goneWith(id) < version;
  }

  goneWith(id: string): number {
    return this.#gone.get(id)?.version ?? 0;
  }

  /** Not removed, only no longer there: a later sight of it is believed. */
  forget(id: string): boolean {
    const live = this.#live.get(id);
    if (live === undefined) return false;
    this.#live.delete(id);
    for (const claim of live.registration.claims) if (this.#holders.get(claim) === id) this.#holders.delete(claim);
    return true;
  }

  /** What is long over. */
  sweep(nowMs: number): void {
    for (const [id, { registration }] of this.#live) if (registration.expiresAtMs + marginMs <= nowMs) this.forget(id);
    for (const [id, { untilMs }] of this.#gone) if (untilMs <= nowMs) this.#gone.delete(id);
  }
}
