// Renewals by traffic: collected, and written once a second as far as they are worth it, so that a busy sandbox costs the
// store next to nothing. Never shortens a registration, and never prolongs a later one of the same id; a renewal that was not
// written yet is lost with the process.
import type { VersionedRegistration } from './known-registrations.ts';

const everyMs = 1000;
/** Written when it adds this much, or a tenth of what is left. */
const worthWritingMs = 60_000;
/** All at once, as after an outage, they would be too late together, and the store would count as away again. */
const mostAtOnce = 32;

export interface RegistrationExtensionsOptions {
  find(id: string): VersionedRegistration | undefined;
  write(known: VersionedRegistration, expiresAtMs: number): Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface Wanted {
  readonly expiresAtMs: number;
  /** Of the registration that it is for: the next one of that id may have an end that is final. */
  readonly body: string;
}

export class RegistrationExtensions {
  readonly #options: RegistrationExtensionsOptions;
  readonly #wanted = new Map<string, Wanted>();
  #timer: NodeJS.Timeout | null = null;
  #isWriting = false;

  constructor(options: RegistrationExtensionsOptions) {
    this.#options = options;
  }

  extend(id: string, expiresAtMs: number): void {
    const body = this.#options.find(id)?.registration.body;
    if (body === undefined) return;
    const wanted = this.#wanted.get(id);
    if (wanted?.body === body && wanted.expiresAtMs >= expiresAtMs) return;
    this.#wanted.set(id, { expiresAtMs, body });
    this.#timer ??= setInterval(() => void this.#writeAll(), everyMs).unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** What fails, or meets a change of somebody else, stays wanted. */
  async #writeAll(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    let some: Promise<void>[] = [];
    for (const [id, { expiresAtMs, body }] of this.#wanted) {
      const known = this.#options.find(id);
      if (known?.registration.body !== body || known.registration.expiresAtMs >= expiresAtMs) {
        this.#wanted.delete(id);
        continue;
      }
      const gainMs = expiresAtMs - known.registration.expiresAtMs;
      const leftMs = known.registration.expiresAtMs - this.#options.now();
      if (gainMs < Math.min(worthWritingMs, leftMs / 10)) continue;
      some.push(this.#options.write(known, expiresAtMs).catch(() => {}));
      if (some.length < mostAtOnce) continue;
      await Promise.all(some);
      some = [];
    }
    await Promise.all(some);
    this.#isWriting = false;
    if (this.#wanted.size === 0) this.close();
  }
}
