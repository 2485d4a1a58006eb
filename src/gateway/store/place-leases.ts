// Leases of places (requests or connections at a time) that another process counts. Of many places a few are leased ahead, so
// that most requests need not wait; of few, each is asked for and given back at once. Never lets more in than it has leased,
// except while the source is away: then up to its share of the limit.
import type { WaitMs } from '../../path/shared-store.ts';
import { placeWaitMs } from './local-meters.ts';
import type { QuotaSource, SourceState } from './quota-source.ts';

/** One place is leased ahead for each 16 of the limit, and never more than `mostInHand`. */
const placesForOneInHand = 16;
const mostInHand = 8;
const idleMs = 2000;
/** A refusal holds for so long: a flood of questions would bring no other answer. */
const refusedMs = 50;
/** Reported again before the source forgets a quiet process (redis-meters.ts: ten minutes). */
const reportAgainMs = 120_000;

interface Room {
  limit: number;
  held: number;
  leased: number;
  usedAtMs: number;
  reportedAtMs: number;
  refusedUntilMs: number;
  asking: boolean;
  /** It has changed since the question that is under way. */
  stale: boolean;
  waiting: ((waitMs: WaitMs) => void)[];
}

export class PlaceLeases {
  readonly #source: QuotaSource;
  readonly #state: SourceState;
  readonly #rooms = new Map<string, Room>();

  constructor(source: QuotaSource, state: SourceState) {
    this.#source = source;
    this.#state = state;
  }

  get size(): number {
    return this.#rooms.size;
  }

  hold(key: string, limit: number): WaitMs | Promise<WaitMs> {
    const room = this.#roomOf(key, limit);
    if (room.waiting.length === 0 && this.#enter(room)) return 0;
    if (this.#state.away()) return this.#enterShare(room);
    if (room.refusedUntilMs > this.#state.now()) return placeWaitMs;
    return new Promise((resolve) => {
      room.waiting.push(resolve);
      this.#settle(key, room);
    });
  }

  release(key: string): void {
    const room = this.#rooms.get(key);
    if (room === undefined || room.held === 0) return;
    room.held--;
    room.usedAtMs = this.#state.now();
    if (room.leased - room.held > kept(room.limit)) this.#settle(key, room);
    else this.#forgetEmpty(key, room);
  }

  /** Once a second: gives back what is not used, and reports again what is held for long. */
  tick(): void {
    const nowMs = this.#state.now();
    for (const [key, room] of this.#rooms) {
      const idle = nowMs - room.usedAtMs >= idleMs && room.leased > room.held;
      const many = room.leased - room.held > inHand(room.limit);
      if (idle || many || nowMs - room.reportedAtMs >= reportAgainMs) this.#settle(key, room);
      else this.#forgetEmpty(key, room);
    }
  }

  /** Gives back what is not used, by the same report as always, so that both sides count alike. Resolves to how much it was. */
  async recall(key: string): Promise<number> {
    const room = this.#rooms.get(key);
    if (room === undefined || room.asking || this.#state.away()) return 0;
    const unused = room.leased - room.held;
    if (unused > 0) await this.#report(key, room, room.held);
    return unused;
  }

  /** After the source was away: it may have forgotten what is held here. */
  reportAll(): void {
    for (const [key, room] of this.#rooms) this.#settle(key, room);
  }

  #roomOf(key: string, limit: number): Room {
    let room = this.#rooms.get(key);
    if (room === undefined) {
      const none = { held: 0, leased: 0, refusedUntilMs: 0, asking: false, stale: false };
      const nowMs = this.#state.now();
      room = { ...none, limit, usedAtMs: nowMs, reportedAtMs: nowMs, waiting: [] };
      this.#rooms.set(key, room);
    }
    if (room.limit !== limit) room.refusedUntilMs = 0;
    room.limit = limit;
    return room;
  }

  #enter(room: Room): boolean {
    if (room.held >= Math.min(room.leased, room.limit)) return false;
    room.held++;
    room.usedAtMs = this.#state.now();
    return true;
  }

  #enterShare(room: Room): WaitMs {
    const share = Math.max(1, Math.floor(room.limit / Math.max(1, this.#state.peers())));
    if (room.held >= share) return placeWaitMs;
    room.held++;
    room.usedAtMs = this.#state.now();
    return 0;
  }

  /** Reports what is held and wanted; one question at a time for a key. */
  #settle(key: string, room: Room): void {
    if (room.asking) {
      room.stale = true;
      return;
    }
    if (this.#state.away()) {
      for (const resolve of room.waiting.splice(0)) resolve(this.#enterShare(room));
      return;
    }
    const idle = this.#state.now() - room.usedAtMs >= idleMs && room.waiting.length === 0;
    const wanted = room.held + room.waiting.length + (idle ? 0 : inHand(room.limit));
    void this.#report(key, room, wanted);
  }

  #report(key: string, room: Room, wanted: number): Promise<void> {
    const asking = room.waiting.length;
    room.asking = true;
    room.stale = false;
    room.reportedAtMs = this.#state.now();
    // What goes back is no longer ours from this moment on, not only when the report has arrived.
    room.leased = Math.min(room.leased, Math.max(wanted, room.held));
    return this.#source.places(key, room.limit, room.held, Math.min(wanted, Math.max(room.limit, room.held))).then(
      (leased) => this.#settled(key, room, leased, asking),
      () => {
        room.asking = false;
        for (const resolve of room.waiting.splice(0)) resolve(this.#enterShare(room));
      },
    );
  }

  /** `asking`: how many were waiting when the question was asked; those that came later ask the next one. */
  #settled(key: string, room: Room, leased: number, asking: number): void {
    room.asking = false;
    room.leased = leased;
    let refused = asking;
    while (room.waiting.length > 0 && this.#enter(room)) {
      room.waiting.shift()!(0);
      refused--;
    }
    if (refused > 0) {
      room.refusedUntilMs = this.#state.now() + refusedMs;
      for (const resolve of room.waiting.splice(0, refused)) resolve(placeWaitMs);
    }
    if (room.stale) this.#settle(key, room);
    else this.#forgetEmpty(key, room);
  }

  #forgetEmpty(key: string, room: Room): void {
    const empty = room.held === 0 && room.leased === 0 && !room.asking && room.waiting.length === 0;
    if (empty && room.refusedUntilMs <= this.#state.now()) this.#rooms.delete(key);
  }
}

/** Requests come and go many times a second: so many free places are kept until the next tick, not reported one by one. */
function kept(limit: number): number {
  return Math.floor(limit / placesForOneInHand);
}

function inHand(limit: number): number {
  return Math.min(mostInHand, Math.floor(limit / placesForOneInHand));
}
