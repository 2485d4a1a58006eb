// The store as a worker has it: what its gateway's own process knows, asked over their channel. Limits are decided here from
// what was borrowed in advance. When that process does not answer, the worker serves nothing (journal-relay.ts), so there
// is no going on alone here.
import type {
  RegistrationChange,
  RegistrationStore,
  SharedLocks,
  SharedStore,
  SharedVault,
  StoreAway,
} from '../../path/shared-store.ts';
import { createLeasedMeters, type LeasedMeters } from '../store/leased-meters.ts';
import type { LenderState, MeterLender, TallyLender } from '../store/meter-lender.ts';
import { ReplicatedTallies } from '../store/replicated-tallies.ts';
import type { Channel, Verbs } from './channel.ts';
import { inTime } from './in-time.ts';
import { type AwayFor, awaySince, type StoreVerbs } from './worker-verbs.ts';

type Asking = Pick<Channel<StoreVerbs, Verbs>, 'ask' | 'tell' | 'isClosed'>;

export interface IpcStoreOptions {
  readonly name: string;
  readonly away: AwayFor | null;
  /** How many gateways share what this one has. */
  readonly gateways: number;
  /** How many this gateway has, this one among them. */
  readonly workers: number;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

export interface IpcStore extends SharedStore {
  /** What the other process tells. */
  hear(away: AwayFor | null): void;
  hearGateways(count: number): void;
  changed(change: RegistrationChange): void;
  recall: LeasedMeters['recall'];
}

/** Ends that traffic has moved are told together. */
const extendEveryMs = 500;
/** As long as a process may be silent before its worker serves nothing (heartbeat.ts). */
const answerWithinMs = 5_000;

export function createIpcStore(channel: Asking, options: IpcStoreOptions): IpcStore {
  const now = options.now ?? (() => performance.now());
  const listeners = new Set<(away: StoreAway | null) => void>();
  let away = awaySince(options.away, now());
  let { gateways } = options;
  const lender = lenderOver(channel);
  const state: LenderState = { now, away: () => channel.isClosed, peers: () => options.workers * gateways };
  const meters = createLeasedMeters(lender, state);
  const tallies = new ReplicatedTallies(lender, state);
  const registrations = new IpcRegistrations(channel);
  return {
    name: options.name,
    get away() {
      return away;
    },
    get gateways() {
      return gateways;
    },
    registrations,
    meters,
    tallies,
    vault: vaultOver(channel),
    locks: locksOver(channel),
    onAway(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    hear(told) {
      away = awaySince(told, now());
      for (const listener of listeners) listener(away);
    },
    hearGateways(count) {
      gateways = count;
    },
    changed: (change) => registrations.changed(change),
    async recall(key, kind) {
      // What was granted in the same breath is in hand by then: Node tells several messages before promises go on.
      await new Promise(setImmediate);
      return meters.recall(key, kind);
    },
    async close() {
      registrations.close();
      await tallies.close();
      meters.close();
    },
  };
}

class IpcRegistrations implements RegistrationStore {
  readonly #channel: Asking;
  readonly #extended = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #listener: ((change: RegistrationChange) => void) | null = null;

  constructor(channel: Asking) {
    this.#channel = channel;
  }

  load: RegistrationStore['load'] = () => this.#channel.ask('load', null);
  add: RegistrationStore['add'] = (registration) => this.#channel.ask('add', registration);
  replace: RegistrationStore['replace'] = (registration) => this.#channel.ask('replace', registration);
  remove: RegistrationStore['remove'] = (id) => this.#channel.ask('remove', { id });

  extend(id: string, expiresAtMs: number): void {
    this.#extended.set(id, Math.max(expiresAtMs, this.#extended.get(id) ?? 0));
    this.#timer ??= setTimeout(() => this.#tellExtended(), extendEveryMs).unref();
  }

  watch(listener: (change: RegistrationChange) => void): void {
    this.#listener = listener;
  }

  changed(change: RegistrationChange): void {
    // What traffic of the earlier one has moved is not for the next one of that id.
    if (change.kind === 'gone') this.#extended.delete(change.id);
    else if (change.kind === 'all') this.#extended.clear();
    this.#listener?.(change);
  }

  close(): void {
    if (this.#timer !== null) this.#tellExtended();
  }

  #tellExtended(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#channel.tell('extend', [...this.#extended]);
    this.#extended.clear();
  }
}

/**
 * Who is not answered gets nothing: a process that is silent may be stopped, and nobody is let in on its account. Its late
 * answer is not waited for; what it granted then is lost, which is on the safe side.
 */
function lenderOver(channel: Asking): MeterLender & TallyLender {
  const nothing = { granted: 0, waitMs: answerWithinMs };
  return {
    draw: (key, rate, least, wanted) =>
      inTime(channel.ask('draw', { key, rate, least, wanted }), answerWithinMs, nothing),
    giveBack: (key, rate, amount) => channel.tell('giveBack', { key, rate, amount }),
    spend: (key, rate, amount) => channel.ask('spend', { key, rate, amount }),
    places: (key, limit, held, wanted) =>
      inTime(channel.ask('places', { key, limit, held, wanted }), answerWithinMs, held),
    tell: (key, own, keepMs) => channel.ask('tally', { key, own, keepMs }),
  };
}

function vaultOver(channel: Asking): SharedVault {
  return {
    async put(key, value, keepMs) {
      await channel.ask('put', { key, value: value.toString('base64'), keepMs });
    },
    async get(key) {
      const value = await channel.ask('get', { key });
      return value === null ? null : Buffer.from(value, 'base64');
    },
    async remove(key) {
      await channel.ask('forget', { key });
    },
  };
}

function locksOver(channel: Asking): SharedLocks {
  return {
    async exclusively(name, waitMs, act) {
      const { ticket } = await channel.ask('lock', { name, waitMs });
      try {
        return await act();
      } finally {
        channel.tell('unlock', { ticket });
      }
    },
  };
}
