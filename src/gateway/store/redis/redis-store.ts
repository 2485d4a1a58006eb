// The store that several gateways share: one Redis. Opens it, keeps saying that this gateway is alive, notices when Redis does
// not answer and comes back by itself, reading everything anew before it counts as there again. Never throws out of a
// timer or an event, never ends the process and never keeps it alive.
import { randomBytes } from 'node:crypto';
import type { SealedBox } from '../../../kit/sealed-box.ts';
import type { Log } from '../../../kit/text/log.ts';
import { type SharedStore, type StoreAway, StoreUnavailable } from '../../../path/shared-store.ts';
import type { StoreSettings } from '../../../policy/compiled-limits.ts';
import { createMeterLeases, type MeterLeases } from '../meter-leases.ts';
import type { SourceState } from '../quota-source.ts';
import { ReplicatedTallies } from '../replicated-tallies.ts';
import { adviceFor, agreeOnCa, CannotJoin, type CommonCa, type StoreToJoin, tryStore } from './join-store.ts';
import { RedisLink } from './redis-link.ts';
import { createRedisLocks } from './redis-locks.ts';
import { createRedisQuota } from './redis-meters.ts';
import { RedisRegistrations } from './redis-registrations.ts';
import { beat, type RedisScript } from './redis-scripts.ts';
import { createRedisTallies } from './redis-tallies.ts';
import { createRedisVault } from './redis-vault.ts';

const beatMs = 1000;
/** Without a heartbeat for so long a gateway is dead: nobody waits for it, and its places are free. */
const aliveMs = 5000;
const [soonestMs, latestMs] = [100, 5000];

export interface RedisStoreOptions {
  readonly settings: StoreSettings;
  /** Asked for every connection. */
  readonly password: () => Promise<string | null>;
  /** With the secret that all gateways of this store have. */
  readonly seal: SealedBox;
  /** The name of this gateway, for people. */
  readonly gateway: string;
  readonly caFingerprint: string;
  readonly log: Log;
  /** How long sandboxes are served while the store is away; absent: as in `settings`. */
  readonly graceMs?: () => number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Connected, checked and read; or an error that says what to do. */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const store = new RedisStore(options);
  try {
    await store.connect();
    await store.refuseTwin();
  } catch (error) {
    await store.close();
    if (error instanceof CannotJoin) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`the store ${options.settings.text} cannot be used: ${reason}. ${adviceFor(reason)}`, {
      cause: error,
    });
  }
  return store;
}

class RedisStore implements SharedStore {
  readonly name: string;
  readonly registrations: RedisRegistrations;
  readonly meters: MeterLeases;
  readonly tallies: ReplicatedTallies;
  readonly vault: SharedStore['vault'];
  readonly locks: SharedStore['locks'];
  readonly #options: RedisStoreOptions;
  readonly #instance: string;
  readonly #listeners = new Set<(away: StoreAway | null) => void>();
  readonly #beat: NodeJS.Timeout;
  readonly #oddities = new Set<string>();
  readonly #now: () => number;
  readonly #joined: StoreToJoin;
  #link: RedisLink | null = null;
  #away: StoreAway | null = { sinceMs: performance.now(), reason: 'not connected yet' };
  gateways = 1;
  /** Since when there is another one of this name. */
  #twinSinceMs: number | null = null;
  #behind = false;
  #failures = 0;
  #retry: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: RedisStoreOptions) {
    const { settings, seal, gateway } = options;
    const { prefix } = settings;
    this.#options = options;
    this.name = settings.text;
    this.#instance = `${gateway}#${randomBytes(6).toString('hex')}`;
    const command = (...args: (string | number)[]) => this.#command(...args);
    const run = (script: RedisScript, ...args: (string | number)[]) => this.#run(script, ...args);
    const state: SourceState = {
      away: () => this.#away !== null,
      peers: () => this.gateways,
      now: () => performance.now(),
    };
    this.#now = options.now ?? Date.now;
    this.#joined = { prefix, text: settings.text, command, run };
    const quota = createRedisQuota({ prefix, instance: this.#instance, run });
    this.meters = createMeterLeases(quota, state);
    this.tallies = new ReplicatedTallies(createRedisTallies({ prefix, instance: this.#instance, run }), state);
    this.vault = createRedisVault({ prefix, seal, command, now: this.#now });
    this.locks = createRedisLocks({ prefix, command, run });
    this.registrations = new RedisRegistrations({
      prefix,
      seal,
      instance: this.#instance,
      command,
      run,
      now: this.#now,
      onOddity: (what, error) => this.#odd(what, error),
    });
    this.#beat = setInterval(() => void this.#sayAlive().catch(() => {}), beatMs).unref();
  }

  get away(): StoreAway | null {
    return this.#away;
  }

  onAway(listener: (away: StoreAway | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Opens new connections and reads everything: only then is the store there. */
  async connect(): Promise<void> {
    const { settings, password, caFingerprint } = this.#options;
    const { changes, acknowledged } = this.registrations.channels;
    const link = await RedisLink.open({
      settings,
      password,
      channels: [changes, acknowledged],
      onMessage: (channel, text) => this.#receive(channel, text),
      onDown: (reason) => this.#lose(reason),
    });
    if (this.#closed) return link.close();
    this.#link = link;
    try {
      await agreeOnCa(this.#joined, 'ca', caFingerprint);
      for (const warning of await tryStore(this.#joined, this.#instance, this.#now())) this.#odd(warning);
      await this.#sayAlive();
      await this.registrations.reload();
    } catch (error) {
      this.#link = null;
      link.close();
      throw error;
    }
    link.keepProcess(false);
    this.#failures = 0;
    this.#setAway(null);
    this.meters.reportAll();
    this.tallies.reportAll();
  }

  /**
   * What a name is registered with is served by that gateway alone, so there is one of each. The heartbeat of a process that
   * crashed ends soon; one that goes on is another gateway, with a copy of this one's home.
   */
  async refuseTwin(): Promise<void> {
    // Nothing else keeps a process that is starting: it would end here, without a word.
    const awake = setInterval(() => {}, beatMs);
    try {
      for (; this.#twinSinceMs !== null; await this.#sayAlive()) {
        if (this.#twinLives) throw new CannotJoin(`in the store ${this.name} ${twinOf(this.#options.gateway)}`);
        await new Promise((resolve) => setTimeout(resolve, beatMs / 4));
      }
    } finally {
      clearInterval(awake);
    }
  }

  get #twinLives(): boolean {
    return this.#twinSinceMs !== null && performance.now() - this.#twinSinceMs > aliveMs + beatMs;
  }

  /** Of what this gateway has beside the store and the others must have too. */
  agreeOn(which: CommonCa, own: string): Promise<void> {
    return agreeOnCa(this.#joined, which, own);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#beat);
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#link?.keepProcess(true);
    this.registrations.close();
    this.meters.close();
    await this.tallies.close();
    const { prefix } = this.#options.settings;
    if (this.#away === null) {
      // So that nobody waits for this one, and its places are free at once.
      const own = ['alive', 'grace'].map((key) => `${prefix}${key}:${this.#instance}`);
      await this.#link?.command('DEL', ...own).catch(() => {});
    }
    this.#link?.close();
    this.#link = null;
  }

  async #sayAlive(): Promise<void> {
    if (this.#link === null) return;
    const { settings, gateway, caFingerprint } = this.#options;
    const times = [aliveMs, aliveMs + (this.#options.graceMs?.() ?? settings.graceMs)];
    const said = [settings.prefix, this.#instance, gateway, ...times, caFingerprint];
    const reply = (await this.#link.run(beat, ...said)) as unknown[];
    this.gateways = Math.max(1, (reply.length - 2) / 2);
    const hasTwin = reply.some((one, i) => i > 2 && i % 2 === 1 && one === gateway && reply[i - 1] !== this.#instance);
    this.#twinSinceMs = hasTwin ? (this.#twinSinceMs ?? performance.now()) : null;
    if (this.#twinLives) this.#odd(twinOf(gateway));
    this.registrations.sweep();
    if (this.#away !== null) return;
    // It was thought dead, as after a long pause of the whole machine: its places may have been given to others.
    if (reply[1] === 0) this.meters.reportAll();
    // Twice in a row: a message may be on its way.
    const behind = this.registrations.isBehind(Number(reply[0]));
    if (behind && this.#behind) {
      this.#behind = false;
      await this.registrations.reload();
    } else this.#behind = behind;
  }

  #receive(channel: string, text: string): void {
    try {
      this.registrations.receive(channel, text);
    } catch (error) {
      this.#odd('a message that could not be read', error);
    }
  }

  #command(...args: (string | number)[]): Promise<unknown> {
    return this.#link?.command(...args) ?? Promise.reject(this.#unavailable());
  }

  #run(script: RedisScript, ...args: (string | number)[]): Promise<unknown> {
    return this.#link?.run(script, ...args) ?? Promise.reject(this.#unavailable());
  }

  #unavailable(): StoreUnavailable {
    return new StoreUnavailable(`the store ${this.name} does not answer: ${this.#away?.reason ?? 'closed'}`);
  }

  #lose(reason: string): void {
    this.#link = null;
    if (this.#closed) return;
    if (this.#away === null) {
      this.#options.log.warn('the store does not answer: sandboxes that are known are served for a while', {
        store: this.name,
        reason,
        grace_seconds: this.#options.settings.graceMs / 1000,
      });
      this.#setAway({ sinceMs: performance.now(), reason });
      this.#tryAgain();
    }
  }

  /** Later each time, and never all gateways at once. */
  #tryAgain(): void {
    if (this.#closed || this.#retry !== null) return;
    const upToMs = Math.min(latestMs, soonestMs * 2 ** this.#failures++);
    this.#retry = setTimeout(
      async () => {
        this.#retry = null;
        try {
          await this.connect();
          if (this.#away === null) this.#options.log.info('the store answers again', { store: this.name });
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          if (this.#away !== null) this.#away = { ...this.#away, reason };
          this.#tryAgain();
        }
      },
      upToMs * (0.5 + Math.random() / 2),
    ).unref();
  }

  #setAway(away: StoreAway | null): void {
    if ((this.#away === null) === (away === null)) return;
    this.#away = away;
    for (const listener of this.#listeners) {
      try {
        listener(away);
      } catch (error) {
        this.#odd('a listener failed', error);
      }
    }
  }

  /** Once for each kind: whoever can write to Redis must not be able to fill the log. */
  #odd(what: string, error?: unknown): void {
    if (this.#oddities.has(what) || this.#oddities.size >= 100) return;
    this.#oddities.add(what);
    this.#options.log.warn(`in the store: ${what}`, { store: this.name, ...(error === undefined ? {} : { error }) });
  }
}

function twinOf(gateway: string): string {
  return (
    `another gateway is called ${gateway} too: is the home of one a copy of the other's? Remove the file gateway-name from ` +
    'one of them and start that gateway again'
  );
}
