// Keeps the identity of the shim in force: renews it at half of its life, tries again when that fails, and says in
// words how long it still has. An identity that is worse than the one in use never takes its place.
import type { Log } from '../../kit/text/log.ts';
import { hasEnded, type Identity, isDue, registerAgain, renewalTime } from './identity.ts';

export interface KeeperPorts {
  renew(identity: Identity): Promise<Identity>;
  /** What is in the folder now: somebody may have put a new identity there. */
  load(): Promise<Identity>;
  keep(identity: Identity): Promise<void>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

const firstRetryMs = 5_000;
const lastRetryMs = 5 * 60_000;
/** Looks at the clock this often: a timer does not count the time that a machine sleeps. */
const longestWaitMs = 60_000;

export class IdentityKeeper {
  readonly #ports: KeeperPorts;
  #current: Identity;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;
  #failures = 0;
  /** By a clock that nobody sets: one that was a day ahead for a moment must not hold up renewals for a day. */
  #nextTryMs = 0;
  #saidMemoryOnly = false;

  constructor(identity: Identity, ports: KeeperPorts) {
    this.#current = identity;
    this.#ports = ports;
  }

  get current(): Identity {
    return this.#current;
  }

  /** Resolves when the first look is over: an identity that is past its half has then been renewed, if it could be. */
  start(): Promise<void> {
    return this.#look();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    if (isDue(this.#current, Date.now()) && performance.now() >= this.#nextTryMs) await this.#renew();
    if (this.#stopped) return;
    const next = Math.max(renewalTime(this.#current) - Date.now(), this.#nextTryMs - performance.now());
    this.#timer = setTimeout(() => void this.#look(), Math.min(Math.max(next, 0), longestWaitMs));
  }

  async #renew(): Promise<void> {
    const { log } = this.#ports;
    await this.#takeFromFolder();
    if (!isDue(this.#current, Date.now())) return;
    try {
      const renewed = await this.#ports.renew(this.#current);
      this.#take(renewed);
      // Near the end of a registration that ends for good, every certificate is past its half when it comes.
      this.#nextTryMs = performance.now() + longestWaitMs;
      log.info('the certificate was renewed', { until: time(renewed.validUntilMs) });
    } catch (error) {
      this.#failures++;
      const waitMs = Math.min(firstRetryMs * 2 ** (this.#failures - 1), lastRetryMs);
      this.#nextTryMs = performance.now() + waitMs;
      this.#complain(error, waitMs);
      return;
    }
    await this.#keep();
  }

  #take(identity: Identity): void {
    this.#current = identity;
    this.#failures = 0;
    this.#nextTryMs = 0;
  }

  /** After a new registration the old certificate cannot be renewed, and the new one needs no restart. */
  async #takeFromFolder(): Promise<void> {
    const found = await this.#ports.load().catch(() => null);
    if (found === null || !isBetter(found, this.#current)) return;
    this.#take(found);
    this.#ports.log.info('took the new identity from the folder', {
      sandbox: found.sandboxId,
      until: time(found.validUntilMs),
    });
  }

  async #keep(): Promise<void> {
    try {
      await this.#ports.keep(this.#current);
    } catch (error) {
      if (this.#saidMemoryOnly) return;
      this.#saidMemoryOnly = true;
      this.#ports.log.warn(
        'the identity folder cannot be written: the renewed key is kept in memory only, and a shim that is started again needs a new registration once the certificate in the folder has ended',
        { error },
      );
    }
  }

  #complain(error: unknown, waitMs: number): void {
    const { log } = this.#ports;
    const retry = `trying again in ${Math.round(waitMs / 1000)} s`;
    const leftMs = this.#current.validUntilMs - Date.now();
    if (hasEnded(this.#current, Date.now())) {
      log.error(`the certificate has ended and nothing gets through. ${registerAgain}`, { retry, error });
    } else {
      log.warn(`the certificate could not be renewed; it is good for another ${Math.ceil(leftMs / 60_000)} min`, {
        retry,
        error,
      });
    }
  }
}

/** True if a person put an identity of another registration there: then the one in use is worthless, however long it lasts. */
function isBetter(found: Identity, current: Identity): boolean {
  if (found.name !== current.name) return !hasEnded(found, Date.now());
  return found.validUntilMs > current.validUntilMs;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
