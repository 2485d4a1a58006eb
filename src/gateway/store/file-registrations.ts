// The registrations of one gateway in one file, so that a restart, also by kill -9, keeps them: on the disk before a change
// is acknowledged. What a change costs does not grow with what is registered.
import type { ClaimTaken, RegistrationStore, StoredRegistration } from '../../path/shared-store.ts';
import { HeldRegistrations } from './held-registrations.ts';
import { type RegistryChange, RegistryFile, type RegistryFileOptions } from './registry-file.ts';

/** Renewals by traffic may be lost for a minute by a crash: that shortens a day by a minute, and never lengthens it. */
const lazyWriteMs = 60_000;

export interface FileRegistrationsOptions extends RegistryFileOptions {
  readonly now?: () => number;
  /** What nobody waits for could not be written; it is tried again. */
  readonly onFailure?: (error: unknown) => void;
}

/** What the file does not say yet. Who is gone comes first: a claim may have gone to another. */
class Unwritten {
  readonly gone = new Set<string>();
  readonly put = new Set<string>();
  readonly moved = new Set<string>();

  get isEmpty(): boolean {
    return this.gone.size + this.put.size + this.moved.size === 0;
  }

  changes(held: HeldRegistrations): RegistryChange[] {
    const changes: RegistryChange[] = [...this.gone].map((gone) => ({ gone }));
    for (const id of new Set([...this.put, ...this.gone, ...this.moved])) {
      const one = held.get(id);
      if (one === undefined) continue;
      changes.push(this.gone.has(id) || this.put.has(id) ? { put: one } : { end: one });
    }
    return changes;
  }
}

export class FileRegistrations implements RegistrationStore {
  readonly #options: FileRegistrationsOptions;
  readonly #now: () => number;
  readonly #file: RegistryFile;
  #held = new HeldRegistrations();
  #unwritten = new Unwritten();
  #lazyWrite: NodeJS.Timeout | null = null;
  /** The write that is under way, and the one after it: who comes meanwhile shares that. */
  #writing: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(options: FileRegistrationsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#file = new RegistryFile(options);
  }

  /** What has expired meanwhile stays out. */
  async load(): Promise<readonly StoredRegistration[]> {
    this.#held = await this.#file.load();
    this.#unwritten = new Unwritten();
    this.#dropExpired();
    return this.#held.all();
  }

  async add(registration: StoredRegistration): Promise<ClaimTaken | null> {
    for (;;) {
      const taken = this.#claimedBy(registration);
      if (taken === null) break;
      if (!this.#hasExpired(this.#held.get(taken.holder)!)) return taken;
      this.#drop(taken.holder);
    }
    const { id, body } = registration;
    this.#held.put(registration);
    this.#unwritten.put.add(id);
    try {
      await this.#write();
    } catch (error) {
      if (this.#held.get(id)?.body === body) this.#drop(id);
      throw error;
    }
    return null;
  }

  async replace(registration: StoredRegistration): Promise<boolean> {
    const { id } = registration;
    const before = this.#held.get(id);
    if (before === undefined) return false;
    this.#held.put(registration);
    this.#unwritten.put.add(id);
    try {
      await this.#write();
    } catch (error) {
      if (this.#held.get(id) === registration) {
        this.#held.put(before);
        this.#unwritten.put.add(id);
      }
      throw error;
    }
    return this.#held.get(id) !== undefined;
  }

  /** Holds also when it cannot be written, and is then written later. */
  async remove(id: string): Promise<{ readonly unconfirmed: readonly string[] }> {
    if (this.#held.get(id) === undefined) return { unconfirmed: [] };
    this.#drop(id);
    await this.#write();
    return { unconfirmed: [] };
  }

  extend(id: string, expiresAtMs: number): void {
    const held = this.#held.get(id);
    if (held === undefined || held.expiresAtMs >= expiresAtMs) return;
    this.#held.put({ ...held, expiresAtMs });
    this.#unwritten.moved.add(id);
    this.#writeLazily();
  }

  /** Nobody else writes this file. */
  watch(): void {}

  /** Writes what traffic has renewed. */
  async close(): Promise<void> {
    if (this.#lazyWrite !== null) {
      clearTimeout(this.#lazyWrite);
      this.#lazyWrite = null;
      await this.#write();
    }
    await this.#writing;
  }

  /** An id is claimed too, whether it says so or not. */
  #claimedBy(registration: StoredRegistration): ClaimTaken | null {
    const { id } = registration;
    if (this.#held.get(id) !== undefined) return { claim: `id ${id}`, holder: id };
    return this.#held.takenFrom(registration);
  }

  #hasExpired({ expiresAtMs }: StoredRegistration): boolean {
    return expiresAtMs <= this.#now();
  }

  #drop(id: string): void {
    this.#held.delete(id);
    this.#unwritten.gone.add(id);
  }

  #dropExpired(): void {
    for (const one of this.#held.all()) if (this.#hasExpired(one)) this.#drop(one.id);
  }

  /** Resolves when all that is held now is on the disk. */
  #write(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = null;
      const written = this.#writeNow();
      // Those whose change could not be written take it back first: what was not acknowledged is not written by the next.
      this.#writing = written.catch(() => new Promise((resolve) => setImmediate(resolve)));
      return written;
    });
    return this.#next;
  }

  async #writeNow(): Promise<void> {
    const unwritten = this.#unwritten;
    if (unwritten.isEmpty && this.#file.isKnown) return;
    this.#unwritten = new Unwritten();
    try {
      const isTooLong = this.#file.isLong(this.#held.size);
      if (!isTooLong && (await this.#file.append(unwritten.changes(this.#held)))) return;
      this.#dropExpired();
      await this.#file.write(this.#held.all());
    } catch (error) {
      // Who waits for a registration takes it back; nobody does so for these.
      for (const id of unwritten.gone) this.#unwritten.gone.add(id);
      for (const id of unwritten.moved) this.#unwritten.moved.add(id);
      this.#writeLazily();
      throw error;
    }
  }

  #writeLazily(): void {
    if (this.#lazyWrite !== null) return;
    this.#lazyWrite = setTimeout(() => {
      this.#lazyWrite = null;
      this.#write().catch((error: unknown) => this.#options.onFailure?.(error));
    }, lazyWriteMs);
    this.#lazyWrite.unref();
  }
}
