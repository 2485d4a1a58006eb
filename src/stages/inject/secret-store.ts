// Every credential by name: where it comes from, whether it can be had, and, for the inject stage alone, the Secret
// itself. Every value is among the known ones before anyone gets it. Lists never hold a value; a source that fails becomes
// a refusal that tells the sandbox nothing of it.
import { Refusal } from '../../path/refusal.ts';
import type { Secret } from '../../path/secret.ts';
import type { CredentialSpec, SourceSpec } from '../../policy/compiled.ts';
import type { KnownSecrets } from './scrub/known-secrets.ts';
import type { OpenSource } from './sources/open-source.ts';
import { atHand, otherThan, type SecretAsker, type SecretSource, SourceError } from './sources/secret-source.ts';

export interface SecretListing {
  readonly name: string;
  /** The kind of its source; a key of the user says where it was found (`environment OPENAI_API_KEY`, `~/.codex/auth.json`). */
  readonly source: string;
  readonly set: boolean;
  /** Nothing is known yet, and nothing speaks against it: the source is asked when a request needs it. */
  readonly unasked: boolean;
  /** The value is a token of a login, not a key; of a login that was not looked at yet, that it will be one. */
  readonly login: boolean;
  /** When the value in force was first seen. */
  readonly since: string | null;
  /** When it ends; null: it does not, or nobody knows. */
  readonly expires: string | null;
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
  readonly isPair: boolean;
  readonly source: SecretSource;
  seen: Secret | null;
  sinceMs: number | null;
  lastUsedMs: number | null;
  /** Why there is no value. */
  error: string | null;
  /** What is wrong with the value that is in force: an upstream refused it. */
  trouble: string | null;
}

/** Their tokens cost a call to get, or were minted for somebody: a reload that does not touch them keeps them. */
const keepState: ReadonlySet<SourceSpec['kind']> = new Set(['github-app', 'login', 'oauth', 'google-service-account']);

export class SecretStore {
  readonly #open: OpenSource;
  readonly #known: KnownSecrets;
  readonly #now: () => number;
  #entries = new Map<string, Entry>();

  /** `now`: milliseconds since the epoch. */
  constructor(open: OpenSource, known: KnownSecrets, now: () => number = Date.now) {
    this.#open = open;
    this.#known = known;
    this.#now = now;
  }

  /**
   * On load and on reload. Values in memory stay as long as their credential waits for one, and tokens as long as what they
   * are got with is the same; all else is read anew.
   */
  configure(specs: ReadonlyMap<string, CredentialSpec>): void {
    const entries = new Map<string, Entry>();
    for (const [name, { source: spec, placements }] of specs) {
      const isPair = placements.some(({ injection }) => injection.kind === 'sigv4');
      const old = this.#entries.get(name);
      if (old !== undefined && old.isPair === isPair && staysAsItIs(old.spec, spec)) {
        entries.set(name, old);
        continue;
      }
      const source = this.#open(name, spec, isPair);
      const lastUsedMs = old?.lastUsedMs ?? null;
      const nothing = { seen: null, sinceMs: null, error: null, trouble: null };
      entries.set(name, { name, kind: spec.kind, spec, isPair, source, lastUsedMs, ...nothing });
    }
    const before = this.#entries;
    this.#entries = entries;
    for (const [name, { source }] of before) {
      // Tokens that nothing hands out any more are taken back, without waiting for it.
      if (entries.get(name)?.source !== source) void source.close?.();
    }
  }

  /** Puts a value into memory. Throws SecretRejected. */
  set(name: string, value: string): void {
    const { entry, set } = this.#settable(name);
    try {
      set(value);
    } catch (error) {
      if (error instanceof SourceError) throw new SecretRejected('invalid', error.message);
      throw error;
    }
    this.#see(entry, atHand(entry.source));
  }

  /** False: nothing was set. Throws SecretRejected. */
  remove(name: string): boolean {
    const { entry, clear } = this.#settable(name);
    const had = clear();
    this.#see(entry, null);
    return had;
  }

  /** What was set by hand, for another process of this gateway. */
  setByHand(): Secret[] {
    return [...this.#entries.values()].flatMap(({ source }) => source.setByHand?.() ?? []);
  }

  /** Another process of this gateway has used it. */
  noteUse(name: string): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.lastUsedMs = this.#now();
  }

  list(): SecretListing[] {
    return [...this.#entries.values()].map((entry) => {
      this.#look(entry);
      const { name, kind, source, seen, sinceMs, lastUsedMs } = entry;
      const error = entry.error ?? source.problem ?? entry.trouble;
      return {
        name,
        source: source.origin ?? kind,
        set: seen !== null,
        unasked: seen === null && error === null && mayHaveOne(source),
        login: seen?.login ?? kind === 'login',
        since: iso(sinceMs),
        expires: iso(seen?.expiresAtMs ?? null),
        lastUsed: iso(lastUsedMs),
        error,
      };
    });
  }

  /** The sandbox is gone: what was made for it alone is taken back. */
  drop(sandboxId: string): void {
    for (const { source } of this.#entries.values()) source.drop?.(sandboxId);
  }

  /** Takes back all that was made for sandboxes, and waits for what is under way, as long as a call may take. */
  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ source }) => source.close?.()));
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

  /**
   * An upstream answered 401 to `refused`: another value of the same credential, or null when its source has none. Never
   * throws; what went wrong stands in the list.
   */
  async renewed(name: string, refused: Secret, asker: SecretAsker | null = null): Promise<Secret | null> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return null;
    const { source } = entry;
    try {
      const found = await (source.renewed?.(refused, asker) ?? source.current(asker));
      // One that takes values by hand may have been given another meanwhile.
      const other = otherThan(refused, found) ?? otherThan(refused, source.set === undefined ? null : atHand(source));
      if (other !== null) return this.#used(entry, other);
      entry.trouble = `an upstream refused it (401) at ${iso(this.#now())}, and its source has no other`;
    } catch (error) {
      entry.trouble = `an upstream refused it (401) at ${iso(this.#now())}, and another could not be had: ${reasonOf(error)}`;
    }
    return null;
  }

  #settable(name: string): { entry: Entry; set: (value: string) => void; clear: () => boolean } {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      const known = [...this.#entries.keys()].sort().join(', ') || 'none';
      throw new SecretRejected('unknown', `no credential ${name} in the configuration (known: ${known})`);
    }
    const { source } = entry;
    if (source.set === undefined || source.clear === undefined) {
      throw new SecretRejected(
        'has-source',
        `${name} has a source in the configuration (${entry.kind}): change it there, or remove ${ruleOf(entry)} to set it by hand`,
      );
    }
    return { entry, set: source.set.bind(source), clear: source.clear.bind(source) };
  }

  /** Learns the state of a source for a listing; never has it do any work. */
  #look(entry: Entry): void {
    const { source } = entry;
    try {
      const found = atHand(source);
      // Nothing at hand says nothing of a source that must be asked: what was last seen of it stands.
      if (found === null && source.listed !== undefined && (source.problem ?? null) === null) return;
      const { error } = entry;
      this.#see(entry, found);
      // Of an App the private key is looked at. What went wrong with GitHub stays to be seen.
      if (entry.kind === 'github-app') entry.error = error;
    } catch (error) {
      this.#failed(entry, error);
    }
  }

  #used(entry: Entry, secret: Secret | null): Secret | null {
    if (entry.kind !== 'github-app') return this.#see(entry, secret);
    // A token of an App is for one sandbox: what is seen of the credential itself is its key.
    if (secret !== null) {
      this.#known.note(secret);
      entry.error = null;
    }
    return secret;
  }

  #see(entry: Entry, secret: Secret | null): Secret | null {
    if (secret !== null) this.#known.note(secret);
    entry.error = null;
    if (secret === entry.seen) return secret;
    // The same value from another look at the file is as old as it was.
    const same = secret !== null && entry.seen !== null && otherThan(secret, entry.seen) === null;
    entry.seen = secret;
    if (same) return secret;
    entry.sinceMs = secret === null ? null : this.#now();
    entry.trouble = null;
    return secret;
  }

  #failed(entry: Entry, error: unknown): Refusal {
    const { name } = entry;
    this.#see(entry, null);
    entry.error = reasonOf(error);
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

function staysAsItIs(before: SourceSpec, spec: SourceSpec): boolean {
  if (spec.kind === 'memory') return before.kind === 'memory';
  return keepState.has(spec.kind) && JSON.stringify(before) === JSON.stringify(spec);
}

/** Whether it would have to be asked to know: one that takes values by hand and has none just waits for one. */
function mayHaveOne({ listed, set, origin = null }: SecretSource): boolean {
  return listed !== undefined && (set === undefined || origin !== null);
}

function reasonOf(error: unknown): string {
  return error instanceof SourceError ? error.message : 'unexpected failure of the source';
}

function ruleOf({ name, kind }: Entry): string {
  return `credentials.${name}.${kind === 'github-app' ? 'app' : 'source'}`;
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
