// Every credential by name: where it comes from, whether it can be had, and, for the inject stage alone, the Secret
// itself. Lists never hold a value; a source that fails becomes a refusal that tells the sandbox nothing of it.
import { Refusal } from '../flow/refusal.ts';
import type { Secret } from '../flow/secret.ts';
import type { CredentialSpec, SourceSpec } from '../policy/compiled.ts';
import { CommandSource } from './command-source.ts';
import { EnvironmentSource, TakenEnvironment } from './environment-source.ts';
import { FileSource } from './file-source.ts';
import { type GithubAppPorts, GithubAppSource } from './github-app-source.ts';
import { MemorySource } from './memory-source.ts';
import { type SecretAsker, type SecretSource, SourceError } from './secret-source.ts';
import type { UserKey, UserKeys } from './user-keys.ts';

export interface SecretListing {
  readonly name: string;
  /** The kind of its source; a key of the user says where it was found (`environment OPENAI_API_KEY`, `~/.codex/auth.json`). */
  readonly source: string;
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
  readonly spec: SourceSpec;
  readonly source: SecretSource;
  seen: Secret | null;
  sinceMs: number | null;
  lastUsedMs: number | null;
  error: string | null;
}

export class SecretStore {
  readonly #environment: TakenEnvironment;
  readonly #now: () => number;
  readonly #githubApps: GithubAppPorts | null;
  readonly #userKeys: UserKeys | null;
  #entries = new Map<string, Entry>();

  /**
   * `githubApps` null: a GitHub App cannot be a source. `userKeys` null: a credential without a source waits for
   * `secret set`; else the user's own key stands in until then.
   */
  constructor(
    env: NodeJS.ProcessEnv = process.env,
    now: () => number = Date.now,
    githubApps: GithubAppPorts | null = null,
    userKeys: UserKeys | null = null,
  ) {
    this.#environment = new TakenEnvironment(env);
    this.#now = now;
    this.#githubApps = githubApps;
    this.#userKeys = userKeys;
  }

  /**
   * On load and on reload. Values in memory stay as long as their credential waits for one, and tokens of a GitHub App
   * as long as the App is the same; all else is read anew.
   */
  configure(specs: ReadonlyMap<string, CredentialSpec>): void {
    const entries = new Map<string, Entry>();
    for (const [name, { source: spec }] of specs) {
      const old = this.#entries.get(name);
      if (old !== undefined && staysAsItIs(old, spec)) {
        entries.set(name, old);
        continue;
      }
      const source = this.#open(name, spec);
      const lastUsedMs = old?.lastUsedMs ?? null;
      entries.set(name, { name, kind: spec.kind, spec, source, seen: null, sinceMs: null, lastUsedMs, error: null });
    }
    const before = this.#entries;
    this.#entries = entries;
    for (const [name, { source }] of before) {
      // Tokens that nothing hands out any more are revoked, without waiting for it.
      if (source instanceof GithubAppSource && entries.get(name)?.source !== source) void source.close();
    }
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
      const { name, kind, sinceMs, lastUsedMs } = entry;
      const userKey = entry.source instanceof MemorySource ? entry.source.userKey : null;
      return {
        name,
        source: userKey?.origin ?? kind,
        set: entry.seen !== null,
        since: iso(sinceMs),
        lastUsed: iso(lastUsedMs),
        error: entry.error ?? userKey?.problem ?? null,
      };
    });
  }

  /** The sandbox is gone: what was made for it alone is taken back. */
  drop(sandboxId: string): void {
    for (const source of this.#apps()) source.drop(sandboxId);
  }

  /** Takes back all that was made for sandboxes; waits a few seconds for it at most. */
  async close(): Promise<void> {
    await Promise.all(this.#apps().map((source) => source.close()));
  }

  /**
   * null: no such credential, nothing set, or nothing for this request. A Refusal when its source fails. Synchronous
   * when it is at hand.
   */
  resolve(name: string, asker: SecretAsker | null = null): Secret | null | Promise<Secret | null> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return null;
    entry.lastUsedMs = this.#now();
    let found: Secret | null | Promise<Secret | null>;
    try {
      found = entry.source.current(asker);
    } catch (error) {
      throw this.#failed(entry, error);
    }
    if (!(found instanceof Promise)) return this.#used(entry, found);
    return found.then(
      (secret) => this.#used(entry, secret),
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
        return new MemorySource(name, this.#userKeyOf(name));
      case 'github-app': {
        if (this.#githubApps === null) throw new Error(`credential ${name}: no way to GitHub was handed in`);
        const key = this.#open(`${name} private key`, spec.privateKey);
        return new GithubAppSource(name, spec, key, this.#githubApps, this.#now);
      }
    }
  }

  #userKeyOf(name: string): (() => UserKey) | null {
    const userKeys = this.#userKeys;
    return userKeys === null ? null : () => userKeys.find(name, this.#environment);
  }

  #apps(): GithubAppSource[] {
    return [...this.#entries.values()].flatMap(({ source }) => (source instanceof GithubAppSource ? source : []));
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
        `${name} has a source in the configuration (${entry.kind}): change it there, or remove ${ruleOf(entry)} to set it by hand`,
      );
    }
    return { entry, source };
  }

  /** Learns the state of a source for a listing; never runs a command for it. */
  #look(entry: Entry): void {
    // Of an App the private key is looked at. What went wrong with GitHub stays to be seen.
    const problem = entry.source instanceof GithubAppSource ? entry.error : null;
    const source = entry.source instanceof GithubAppSource ? entry.source.key : entry.source;
    try {
      const found = source instanceof CommandSource ? source.remembered() : source.current(null);
      if (!(found instanceof Promise) && !(source instanceof CommandSource && found === null)) {
        this.#note(entry, found);
        entry.error = problem;
      }
    } catch (error) {
      this.#failed(entry, error);
    }
  }

  /** A token of an App is for one sandbox: what is seen of the credential itself is its key. */
  #used(entry: Entry, secret: Secret | null): Secret | null {
    if (entry.kind !== 'github-app') return this.#note(entry, secret);
    if (secret !== null) entry.error = null;
    return secret;
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
        rule: ruleOf(entry),
        hint: 'on the gateway, `sallyport secret list` says what is wrong with it',
        cause: error,
      },
    );
  }
}

function staysAsItIs({ source, spec: before }: Entry, spec: SourceSpec): boolean {
  if (spec.kind === 'memory') return source instanceof MemorySource;
  return spec.kind === 'github-app' && JSON.stringify(before) === JSON.stringify(spec);
}

function ruleOf({ name, kind }: Entry): string {
  return `credentials.${name}.${kind === 'github-app' ? 'app' : 'source'}`;
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
