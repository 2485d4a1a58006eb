// How many connections may be open, and how many may be new per second: for one caller, for all unregistered addresses
// together, and for the whole gateway. Over the limit a connection is closed, and the journal says so once a minute for each
// caller, with the number. Counting starts before the caller has identified itself, by address; once a connection turns out
// to belong to a sandbox, it counts for that sandbox and no longer for the address, which others may share.
//
// Meters: `d:<caller>:open` and `:new`, `d:<gateway>/strangers:…`, `g:open-connections` and `g:new-connections`.
import { LRUCache } from 'lru-cache';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { madeRequest } from '../../../path/made-request.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { MeterRate, SharedMeters, WaitMs } from '../../../path/shared-store.ts';
import type { DoorLimits, Limits } from '../../../policy/compiled-limits.ts';
import { DnsExchange } from '../dns/dns-exchange.ts';
import type { Arrival, OpenConnection, Opening } from './door-ports.ts';

export interface ConnectionLimitsOptions {
  readonly limits: () => Pick<Limits, keyof DoorLimits | 'gateway'>;
  readonly meters: SharedMeters;
  /** Whether a sandbox is registered at this address. */
  readonly isRegistered: (address: string) => boolean;
  /** Where several share the meters: which of them this is. The same address is somebody else on another machine. */
  readonly gateway?: string;
  /** How many this process can have, whatever the limits say; absent: as many as they say. */
  readonly room?: number;
  /** Writes a refusal down. */
  readonly record: (arrival: Arrival) => void;
  readonly now?: () => number;
}

interface Ask {
  readonly key: string;
  /** The one of the two that is limited. */
  readonly places: number;
  readonly rate: MeterRate | null;
  readonly rule: string;
}

/** What a connection was given. */
interface Held {
  readonly places: string[];
  /** What it was asked for by its address alone; none where that is a sandbox's own. */
  byAddress: readonly Ask[];
  isStranger: boolean;
}

const noticeEveryMs = 60_000;
/** More callers than are ever reported at a time. A caller that was forgotten is reported again. */
const maxNotices = 1024;
/** The rule where no setting of ours is in the way. */
const openFiles = 'the limit of open files of the gateway (ulimit -n)';
/** How much a caller may bring at once after a quiet time. */
const burstSeconds = 2;

export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #now: () => number;
  #open = 0;
  #strangers = 0;
  readonly #held = new WeakMap<OpenConnection, Held>();
  readonly #notices = new LRUCache<string, { afterMs: number; unsaid: number }>({ max: maxNotices });

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** What it was given is given back with `leave`; a connection that was refused has nothing. */
  enter(connection: OpenConnection): Opening | Promise<Opening> {
    const isStranger = this.#isStranger(connection);
    const { room = Number.POSITIVE_INFINITY } = this.#options;
    // Who is not registered leaves half of it to those who are.
    if (this.#open >= room || (isStranger && this.#strangers >= Math.ceil(room / 2))) {
      const key = `d:${callerKey(connection, '')}:`;
      this.#notice(connection, { key, places: room, rate: null, rule: openFiles }, isStranger);
      return 'limit.connections';
    }
    const { byAddress, common } = this.#asksFor(connection);
    const held: Held = { places: [], byAddress: isStranger ? byAddress : [], isStranger };
    this.#held.set(connection, held);
    this.#open++;
    if (isStranger) this.#strangers++;
    return this.#ask(connection, [...byAddress, ...common], 0, held);
  }

  leave(connection: OpenConnection): void {
    const held = this.#held.get(connection);
    if (held === undefined) return;
    for (const key of held.places) this.#options.meters.release(key);
    this.#held.delete(connection);
    this.#open--;
    if (held.isStranger) this.#strangers--;
  }

  /**
   * It came from an address that tells nothing, and has proven whose it is: this sandbox's, or (null) somebody's who is counted
   * by another connection on top of it. Whoever else comes from that address does not pay for it.
   */
  identified(connection: OpenConnection, sandboxId: string | null): Opening | Promise<Opening> {
    const held = this.#held.get(connection);
    if (held === undefined || !held.isStranger) return true;
    held.isStranger = false;
    this.#strangers--;
    for (const ask of held.byAddress) this.#giveBack(ask, held);
    held.byAddress = [];
    if (sandboxId === null) return true;
    return this.#ask(connection, asksOf(`d:sandbox ${sandboxId}`, this.#options.limits(), 'limits'), 0, held);
  }

  #giveBack({ key, rate }: Ask, { places }: Held): void {
    const { meters } = this.#options;
    if (rate !== null) {
      meters.spend(key, rate, -1);
      return;
    }
    meters.release(key);
    places.splice(places.indexOf(key), 1);
  }

  /** The caller's own limit first: a caller that is over it must not use up the common one. */
  #asksFor(connection: OpenConnection): { readonly byAddress: readonly Ask[]; readonly common: readonly Ask[] } {
    const { limits, gateway: name = '' } = this.#options;
    const { gateway, ...own } = limits();
    const caller = callerKey(connection, name);
    const byAddress = asksOf(`d:${caller}`, own, 'limits');
    if (this.#isStranger(connection)) {
      // Making up addresses helps nobody: all that are not registered have half of what there is, so that those who are
      // registered always have the other half.
      const half = {
        ...gateway,
        connections: halfOf(gateway.connections),
        connectionsPerSecond: halfOf(gateway.connectionsPerSecond),
      };
      byAddress.unshift(...asksOf(`d:${name}/strangers`, half, 'limits.gateway'));
    }
    // A certificate is shown on a connection that was new, and counted as such, when its handshake began.
    const common = asksOf('g', gateway, 'limits.gateway', '-connections');
    return { byAddress, common: isCountedAlready(connection) ? common.filter(({ rate }) => rate === null) : common };
  }

  #isStranger({ address, countedAs }: OpenConnection): boolean {
    return countedAs == null && address !== null && !this.#options.isRegistered(address);
  }

  #ask(connection: OpenConnection, asks: readonly Ask[], from: number, held: Held): Opening | Promise<Opening> {
    for (let i = from; i < asks.length; i++) {
      const ask = asks[i]!;
      const waitMs = this.#askOne(ask);
      if (typeof waitMs !== 'number') {
        return waitMs.then(
          (later) => this.#settle(connection, ask, later, held) ?? this.#ask(connection, asks, i + 1, held),
        );
      }
      const refused = this.#settle(connection, ask, waitMs, held);
      if (refused !== null) return refused;
    }
    return true;
  }

  #askOne({ key, places, rate }: Ask): WaitMs | Promise<WaitMs> {
    const { meters } = this.#options;
    return rate === null ? meters.hold(key, places) : meters.take(key, rate);
  }

  #settle(connection: OpenConnection, ask: Ask, waitMs: WaitMs, held: Held): Opening | null {
    if (waitMs <= 0) {
      if (ask.rate !== null) return null;
      // It left while that was asked for elsewhere: nobody would give this one back.
      if (this.#held.get(connection) !== held) this.#options.meters.release(ask.key);
      else held.places.push(ask.key);
      return null;
    }
    this.leave(connection);
    this.#notice(connection, ask, held.isStranger);
    return ask.rate === null ? 'limit.connections' : 'limit.connection-rate';
  }

  #notice(connection: OpenConnection, ask: Ask, isStranger: boolean): void {
    const who = isStranger ? 'strangers' : ask.key.slice(0, ask.key.lastIndexOf(':'));
    const nowMs = this.#now();
    const notice = this.#notices.get(who) ?? { afterMs: Number.NEGATIVE_INFINITY, unsaid: 0 };
    this.#notices.set(who, notice);
    notice.unsaid++;
    if (nowMs < notice.afterMs) return;
    const fault = turnedAway(isStranger, ask, notice.unsaid);
    notice.afterMs = nowMs + noticeEveryMs;
    notice.unsaid = 0;
    const { address, socketOf, door = 'door' } = connection;
    this.#options.record({
      caller: { door, address, socketOf, proxyAuthorization: null },
      request: { ...madeRequest('http', 'CONNECT', '*', new HeaderList()), kind: 'connect', fault },
      // Nothing is answered with it.
      exchange: new DnsExchange(),
    });
  }
}

function asksOf(prefix: string, limits: DoorLimits, section: string, suffix = ''): Ask[] {
  const { connections, connectionsPerSecond } = limits;
  const asks: Ask[] = [];
  if (connections > 0) {
    asks.push({ key: `${prefix}:open${suffix}`, places: connections, rate: null, rule: `${section}.connections` });
  }
  if (connectionsPerSecond > 0) {
    const rate = { perSecond: connectionsPerSecond, burst: connectionsPerSecond * burstSeconds };
    asks.push({ key: `${prefix}:new${suffix}`, places: 0, rate, rule: `${section}.connections_per_second` });
  }
  return asks;
}

function halfOf(amount: number): number {
  return Math.ceil(amount / 2);
}

/** Who it is counted for. A socket and a certificate are of one sandbox wherever it comes in. */
function callerKey({ countedAs, address, socketOf }: OpenConnection, gateway: string): string {
  if (countedAs != null) return countedAs;
  return address === null ? `socket ${socketOf}` : `${gateway}/${address}`;
}

function isCountedAlready({ countedAs }: OpenConnection): boolean {
  return countedAs != null;
}

function turnedAway(isStranger: boolean, { rate, places, rule }: Ask, count: number): Refusal {
  const who = isStranger ? 'addresses that are not registered' : 'a sandbox';
  const over =
    rate === null ? `${places} connections are open already` : `more than ${rate.perSecond} new ones a second`;
  const what = `${count} ${count === 1 ? 'connection' : 'connections'} of ${who} turned away since the last record: ${over}`;
  return new Refusal(rate === null ? 'limit.connections' : 'limit.connection-rate', what, {
    rule,
    hint: `Connections over the limit are closed, and the journal says so once a minute. Look for a program that connects in a loop, or raise ${rule}.`,
  });
}
