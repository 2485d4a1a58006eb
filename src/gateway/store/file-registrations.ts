// The registrations of one gateway in one file, so that a restart, also by kill -9, keeps them: on the disk before a change
// is acknowledged. Holds hashes, never a secret. A file that cannot be believed is an error with its fix, never silently an
// empty registry.
import { lstat, readFile } from 'node:fs/promises';
import { removeUnfinished, writeFileAtomically } from '../../kit/files/atomic-file.ts';
import type { ClaimTaken, RegistrationStore, StoredRegistration } from '../../path/shared-store.ts';

/** Renewals by traffic may be lost for a minute by a crash: that shortens a day by a minute, and never lengthens it. */
const lazyWriteMs = 60_000;

export interface FileRegistrationsOptions {
  readonly path: string;
  /** A sandbox as the file has it. Throws an Error that says what is wrong with it. */
  readonly read: (sandbox: unknown) => StoredRegistration;
  readonly now?: () => number;
  /** What nobody waits for could not be written; it is tried again. */
  readonly onFailure?: (error: unknown) => void;
}

/** The file cannot be read or written: what to do about it is in `hint`. */
export class RegistryFileError extends Error {
  override readonly name = 'RegistryFileError';
  readonly status = 500;
  readonly code: 'registry.unreadable' | 'registry.unwritable';
  readonly hint: string;

  constructor(code: RegistryFileError['code'], message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
  }
}

export class FileRegistrations implements RegistrationStore {
  readonly #options: FileRegistrationsOptions;
  readonly #now: () => number;
  /** In order of registration. */
  readonly #held = new Map<string, StoredRegistration>();
  #lazyWrite: NodeJS.Timeout | null = null;
  /** The write that is under way, and the one after it: who comes meanwhile shares that. */
  #writing: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(options: FileRegistrationsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** What has expired meanwhile stays out. */
  async load(): Promise<readonly StoredRegistration[]> {
    this.#held.clear();
    await removeUnfinished(this.#options.path);
    for (const one of await readRegistrations(this.#options)) this.#held.set(one.id, one);
    this.#dropExpired();
    return [...this.#held.values()];
  }

  async add(registration: StoredRegistration): Promise<ClaimTaken | null> {
    this.#dropExpired();
    const taken = this.#claimedBy(registration);
    if (taken !== null) return taken;
    this.#held.set(registration.id, registration);
    try {
      await this.#write();
    } catch (error) {
      if (this.#held.get(registration.id)?.body === registration.body) this.#held.delete(registration.id);
      throw error;
    }
    return null;
  }

  async replace(registration: StoredRegistration): Promise<boolean> {
    const before = this.#held.get(registration.id);
    if (before === undefined) return false;
    this.#held.set(registration.id, registration);
    try {
      await this.#write();
    } catch (error) {
      if (this.#held.get(registration.id) === registration) this.#held.set(registration.id, before);
      throw error;
    }
    return this.#held.has(registration.id);
  }

  /** Holds also when it cannot be written, and is then written later. */
  async remove(id: string): Promise<{ readonly unconfirmed: readonly string[] }> {
    if (!this.#held.delete(id)) return { unconfirmed: [] };
    try {
      await this.#write();
    } catch (error) {
      this.#writeLazily();
      throw error;
    }
    return { unconfirmed: [] };
  }

  extend(id: string, expiresAtMs: number): void {
    const held = this.#held.get(id);
    if (held === undefined || held.expiresAtMs >= expiresAtMs) return;
    this.#held.set(id, { ...held, expiresAtMs });
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

  #claimedBy({ claims }: StoredRegistration): ClaimTaken | null {
    for (const held of this.#held.values()) {
      const claim = claims.find((one) => held.claims.includes(one));
      if (claim !== undefined) return { claim, holder: held.id };
    }
    return null;
  }

  #dropExpired(): void {
    const nowMs = this.#now();
    for (const { id, expiresAtMs } of [...this.#held.values()]) if (expiresAtMs <= nowMs) this.#held.delete(id);
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
    const { path } = this.#options;
    const sandboxes = [...this.#held.values()].map(asWritten);
    try {
      await writeFileAtomically(path, `${JSON.stringify({ version: 1, sandboxes }, null, 1)}\n`, 0o600);
    } catch (error) {
      const message = `the registry could not be written to ${path}: ${reasonOf(error)}`;
      const hint = 'Make room on the disk or make the directory writable for the gateway, then try again.';
      throw new RegistryFileError('registry.unwritable', message, hint, error);
    }
  }

  #writeLazily(): void {
    if (this.#lazyWrite !== null) return;
    this.#lazyWrite = setTimeout(() => {
      this.#lazyWrite = null;
      this.#write().catch((error: unknown) => {
        this.#options.onFailure?.(error);
        this.#writeLazily();
      });
    }, lazyWriteMs);
    this.#lazyWrite.unref();
  }
}

/** The end of a registration is moved without its body. */
function asWritten({ body, expiresAtMs }: StoredRegistration): object {
  return { ...JSON.parse(body), expires_at: new Date(expiresAtMs).toISOString() };
}

async function readRegistrations(options: FileRegistrationsOptions): Promise<StoredRegistration[]> {
  const { path } = options;
  const text = await readPrivateFile(path);
  if (text === null) return [];
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw unreadable(path, `it is not JSON (${reasonOf(error)})`, error);
  }
  const registrations = sandboxesIn(path, json).map((one, index) => {
    try {
      return options.read(one);
    } catch (error) {
      throw unreadable(path, `sandboxes.${index}: ${reasonOf(error)}`, error);
    }
  });
  const seen = new Set<string>();
  for (const claim of registrations.flatMap(({ claims }) => claims)) {
    if (seen.has(claim)) throw unreadable(path, `${claim} is registered twice`);
    seen.add(claim);
  }
  return registrations;
}

function sandboxesIn(path: string, json: unknown): unknown[] {
  if (typeof json !== 'object' || json === null) throw unreadable(path, 'it is not a JSON object');
  const { version, sandboxes, ...others } = json as Readonly<Record<string, unknown>>;
  if (version !== 1) throw unreadable(path, 'version: not 1');
  if (!Array.isArray(sandboxes)) throw unreadable(path, 'sandboxes: not a list');
  if (Object.keys(others).length > 0) throw unreadable(path, 'it has a key that is not known');
  return sandboxes;
}

/** Null when there is no file. Whoever can write this file can register sandboxes, so it must be ours alone. */
async function readPrivateFile(path: string): Promise<string | null> {
  let found: Awaited<ReturnType<typeof lstat>>;
  try {
    found = await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unreadable(path, reasonOf(error), error);
  }
  if (!found.isFile()) throw unreadable(path, 'it is not a regular file');
  if ((found.mode & 0o077) !== 0) {
    const hint = `See that its content is yours, then run: chmod 600 ${path}`;
    throw new RegistryFileError('registry.unreadable', `the registry ${path} is open to other users`, hint);
  }
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, reasonOf(error), error);
  }
}

function unreadable(path: string, why: string, cause?: unknown): RegistryFileError {
  const hint = `Restore it from a copy, or move it away (mv ${path} ${path}.broken) and register the sandboxes again.`;
  return new RegistryFileError('registry.unreadable', `the registry ${path} cannot be used: ${why}`, hint, cause);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
