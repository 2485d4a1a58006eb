// Any source whose value is a pair of AWS keys: says when temporary keys end, asks for the next ones before that, and notes
// the parts of the pair as well as the whole. A value that is no pair is refused here, where the operator sees it.
import { reveal, Secret } from '../../../path/secret.ts';
import { type SecretAsker, type SecretSource, SourceError } from '../sources/secret-source.ts';
import { type AwsKeys, noteAwsKeys, parseAwsKeys } from './aws-keys.ts';

/** Keys that end sooner are asked for anew, as the SDKs of AWS do it. */
const aheadMs = 5 * 60_000;
/** A source that had nothing newer is not asked on every request. */
const askAgainMs = 30_000;

export class AwsKeysSource implements SecretSource {
  readonly #source: SecretSource;
  readonly #note: (secret: Secret) => void;
  readonly #now: () => number;
  /** What was made of a value of the source, so that the same value is the same Secret. */
  readonly #made = new WeakMap<Secret, Secret>();
  #asked: { readonly about: Secret; readonly atMs: number; readonly answer: Promise<Secret | null> } | null = null;
  readonly set?: (value: string) => void;
  readonly clear?: () => boolean;
  readonly setByHand?: () => Secret | null;
  /** Only where the source has one: to have it says that asking is work. */
  readonly listed?: () => Secret | null;

  /** `now`: milliseconds since the epoch. */
  constructor(source: SecretSource, note: (secret: Secret) => void, now: () => number = Date.now) {
    this.#source = source;
    this.#note = note;
    this.#now = now;
    const { set, clear, listed } = source;
    if (listed !== undefined) {
      this.listed = () => {
        const found = listed.call(source);
        return found === null ? null : this.#dated(found, this.#keysOf(found));
      };
    }
    if (set === undefined || clear === undefined) return;
    this.set = (value) => {
      parseAwsKeys(new Secret('that was given', value));
      set.call(source, value);
    };
    this.clear = () => clear.call(source);
    this.setByHand = () => source.setByHand?.() ?? null;
  }

  get problem(): string | null {
    return this.#source.problem ?? null;
  }

  get origin(): string | null {
    return this.#source.origin ?? null;
  }

  current(asker: SecretAsker | null): Secret | null | Promise<Secret | null> {
    const found = this.#source.current(asker);
    return found instanceof Promise ? found.then((secret) => this.#fresh(secret, asker)) : this.#fresh(found, asker);
  }

  async renewed(refused: Secret, asker: SecretAsker | null): Promise<Secret | null> {
    const next = await this.#source.renewed?.(refused, asker);
    return next === undefined || next === null ? null : this.#dated(next, this.#keysOf(next));
  }

  drop(sandboxId: string): void {
    this.#source.drop?.(sandboxId);
  }

  async close(): Promise<void> {
    await this.#source.close?.();
  }

  #fresh(secret: Secret | null, asker: SecretAsker | null): Secret | null | Promise<Secret | null> {
    if (secret === null) return null;
    const keys = this.#keysOf(secret);
    if (keys.expiresAtMs === null || keys.expiresAtMs - this.#now() > aheadMs) return this.#dated(secret, keys);
    return this.#next(secret, asker).then((next) => {
      if (next !== null) return this.#dated(next, this.#keysOf(next));
      if (keys.expiresAtMs! > this.#now()) return this.#dated(secret, keys);
      throw new SourceError(
        `the temporary AWS keys ended at ${new Date(keys.expiresAtMs!).toISOString()} and their source has no newer ones: ` +
          'log in again (aws sso login), or give it keys that last',
      );
    });
  }

  /** One question at a time, whoever asks. */
  #next(secret: Secret, asker: SecretAsker | null): Promise<Secret | null> {
    const nowMs = this.#now();
    const asked = this.#asked;
    if (asked !== null && asked.about === secret && Math.abs(nowMs - asked.atMs) < askAgainMs) return asked.answer;
    const answer = Promise.resolve(this.#source.renewed?.(secret, asker) ?? null).catch(() => null);
    this.#asked = { about: secret, atMs: nowMs, answer };
    return answer;
  }

  #keysOf(secret: Secret): AwsKeys {
    const keys = parseAwsKeys(secret);
    noteAwsKeys(keys, this.#note);
    return keys;
  }

  #dated(secret: Secret, { expiresAtMs }: AwsKeys): Secret {
    if (expiresAtMs === secret.expiresAtMs) return secret;
    let dated = this.#made.get(secret);
    if (dated === undefined) {
      dated = new Secret(secret.name, reveal(secret), { expiresAtMs });
      this.#made.set(secret, dated);
    }
    return dated;
  }
}
