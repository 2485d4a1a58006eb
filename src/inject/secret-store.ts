// Every credential by name: where it comes from, whether it can be had, and, for the inject stage alone, the Secret
// itself. Lists never hold a value; a source that fails becomes a refusal that tells the sandbox nothing of it.
import { Refusal } from '../flow/refusal.ts';
import type { Secret } from '../flow/secret.ts';
import type { CredentialSpec, SourceSpec } from '../policy/compiled.ts';
import { CommandSource } from './command-source.ts';
import { EnvironmentSource, TakenEnvironment } from './environment-source.ts';
import { FileSource } from './file-source.ts';
import { MemorySource } from './memory-source.ts';
import { type SecretSource, SourceError } from './secret-source.ts';

export interface SecretListing {
  readonly name: string;
  readonly source: SourceSpec['kind'];
  readonly set: boolean;
  /** When the value in force was first seen. */
  readonly since: string | null;
  readonly lastUsed: string | null;
  /** Why it cannot be had, for the operator. */
  readonly error: string | null;
}

/** A command of the operator that cannot be carried out. */
export class SecretRejected extends Error {
  override readonly name = 'SecretRejected';
  readonly reason: 'unknown' | 'has-source' | 'invalid';

  constructor(reason: SecretRejected['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

interface Entry {
  readonly name: string;
  readonly kind: SourceSpec['kind'];
  readonly source: SecretSource;
  seen: Secret | null;
  sinceMs: number | null;
  lastUsedMs: number | null;
  error: string | null;
}

export class SecretStore {
  readonly #environment: TakenEnvironment;
  readonly #now: () => number;
  #entries = new Map<string, Entry>();

  constructor(env: NodeJS.ProcessEnv = process.env, now: () => number = Date.now) {
    this.#environment = new TakenEnvironment(env);
    this.#now = now;
  }

  /** On load and on reload. Values in memory stay as long as their credential waits for one; all else is read anew. */
  configure(specs: ReadonlyMap<string, CredentialSpec>): void {
    const entries = new Map<string, Entry>();
    for (const [name, { source: spec }] of specs) {
      const old = this.#entries.get(name);
      if (spec.kind === 'memory' && old?.source instanceof MemorySource) {
        entries.set(name, old);
        continue;
      }
      const source = this.#open(name, spec);
      const lastUsedMs = old?.lastUsedMs ?? null;
      entries.set(name, { name, kind: spec.kind, source, seen: null, sinceMs: null, lastUsedMs, error: null });
    }
    this.#entries = entries;
  }

  /** Puts a value into memory. Throws SecretRejected. */
  set(name: string, value: string): void {
    const { entry, source } = this.#inMemory(name);
    try {
      source.set(value);
    } catch (error) {
      if (error instanceof SourceError) throw new SecretRejected('invalid', error.message);
      throw error;
    }
    this.#note(entry, source.current());
  }

  /** False: nothing was set. Throws SecretRejected. */
  remove(name: string): boolean {
    const { entry, source } = this.#inMemory(name);
    const had = source.clear();
    this.#note(entry, null);
    return had;
  }

  list(): SecretListing[] {
    return [...this.#entries.values()].map((entry) => {
      this.#look(entry);
      const { name, kind: source, sinceMs, lastUsedMs, error } = entry;
      return { name, source, set: entry.seen !== null, since: iso(sinceMs), lastUsed: iso(lastUsedMs), error };
    });
  }

  /** null: no such credential, or nothing set. A Refusal when its source fails. Synchronous when it is at hand. */
  resolve(name: string): Secret | null | Promise<Secret | null> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return null;
    entry.lastUsedMs = this.#now();
    let found: Secret | null | Promise<Secret | null>;
    try {
      found = entry.source.current();
    } catch (error) {
      throw this.#failed(entry, error);
    }
    if (!(found instanceof Promise)) return this.#note(entry, found);
    return found.then(
      (secret) => this.#note(entry, secret),
      (error: unknown) => {
        throw this.#failed(entry, error);
      },
    );
  }

  #open(name: string, spec: SourceSpec): SecretSource {
    switch (spec.kind) {
      case 'file':
        return new FileSource(name, spec.path);
      case 'command':
        return new CommandSource(name, spec.argv, spec.ttlSeconds);
      case 'environment':
        return new EnvironmentSource(name, spec.variable, this.#environment);
      case 'memory':
        return new MemorySource(name);
    }
  }

  #inMemory(name: string): { entry: Entry; source: MemorySource } {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      const known = [...this.#entries.keys()].sort().join(', ') || 'none';
      throw new SecretRejected('unknown', `no credential ${name} in the configuration (known: ${known})`);
    }
    const { source } = entry;
    if (!(source instanceof MemorySource)) {
      throw new SecretRejected(
        'has-source',
        `${name} has a source in the configuration (${entry.kind}): change it there, or remove credentials.${name}.source to set it by hand`,
      );
    }
    return { entry, source };
  }

  /** Learns the state of a source for a listing; never runs a command for it. */
  #look(entry: Entry): void {
    try {
      const found = entry.source instanceof CommandSource ? entry.source.remembered() : entry.source.current();
      if (!(found instanceof Promise) && !(entry.source instanceof CommandSource && found === null)) {
        this.#note(entry, found);
      }
    } catch (error) {
      this.#failed(entry, error);
    }
  }

  #note(entry: Entry, secret: Secret | null): Secret | null {
    entry.error = null;
    if (secret !== entry.seen) {
      entry.seen = secret;
      entry.sinceMs = secret === null ? null : this.#now();
    }
    return secret;
  }

  #failed(entry: Entry, error: unknown): Refusal {
    const { name } = entry;
    this.#note(entry, null);
    entry.error = error instanceof SourceError ? error.message : 'unexpected failure of the source';
    return new Refusal(
      'credential.unreadable',
      `the credential ${name} cannot be read: the operator of the gateway must fix its ${entry.kind} source`,
      {
        rule: `credentials.${name}.source`,
        hint: 'on the gateway, `sallyport secret list` says what is wrong with it',
        cause: error,
      },
    );
  }
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
