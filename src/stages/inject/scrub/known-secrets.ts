// Every credential value that this process has held and that may still be good for something: what answers are searched
// for, and what no request may carry out. Sources note what they have beside what they hand out (refresh tokens, the parts
// of a pair of keys); the store notes the rest.
import { reveal, type Secret } from '../../../path/secret.ts';
import { minSecretBytes } from './secret-forms.ts';

/** More than any gateway has at a time: tokens minted for many sandboxes are the many. */
const maxKnown = 8192;
/** A token that has ended may be believed a little longer by a clock that is slow. */
const afterEndMs = 60 * 60_000;

interface Known {
  readonly secret: Secret;
  endsAtMs: number;
  notedAtMs: number;
}

export class KnownSecrets {
  readonly #now: () => number;
  /** By value, the newest last. */
  readonly #known = new Map<string, Known>();
  #version = 0;
  /** Hears of each value that was not known before: other processes must know it too. */
  onNew: ((secret: Secret) => void) | null = null;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Another whenever something was added or has gone. */
  get version(): number {
    return this.#version;
  }

  note(secret: Secret): void {
    const value = reveal(secret);
    if (Buffer.byteLength(value) < minSecretBytes) return;
    const endsAtMs = secret.expiresAtMs === null ? Number.POSITIVE_INFINITY : secret.expiresAtMs + afterEndMs;
    const known = this.#known.get(value);
    if (known !== undefined) {
      known.endsAtMs = Math.max(known.endsAtMs, endsAtMs);
      known.notedAtMs = this.#now();
      return;
    }
    this.#known.set(value, { secret, endsAtMs, notedAtMs: this.#now() });
    this.#version++;
    this.onNew?.(secret);
    if (this.#known.size > maxKnown) this.#makeRoom();
  }

  all(): Secret[] {
    return [...this.#known.values()].map(({ secret }) => secret);
  }

  #makeRoom(): void {
    const nowMs = this.#now();
    for (const [value, { endsAtMs }] of this.#known) if (endsAtMs < nowMs) this.#known.delete(value);
    // Those in use are noted again and again: a key of years stays, a token of last week goes.
    const byNote = [...this.#known].sort(([, one], [, other]) => one.notedAtMs - other.notedAtMs);
    // Some room at once, so that this is not done for every one that comes.
    const excess = Math.max(0, this.#known.size - maxKnown * 0.9);
    for (const [value] of byNote.slice(0, excess)) this.#known.delete(value);
  }
}

/** Most of what a search was given is forgotten: it should be made anew, which for thousands takes a second, so not sooner. */
export function isOvergrown(given: number, known: number): boolean {
  return given > 2 * known + 1024;
}
