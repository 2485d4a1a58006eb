// What the gateway knows of one login: the newest it has seen or was given, and which refresh tokens it has exchanged. Decides
// which of two logins is the newer, and how long a token may be used. Does no I/O and tells nobody anything.
import type { Secret } from '../../../path/secret.ts';
import { type Login, sameValue } from './login-keep.ts';

/** Renewed on use this long before its end, or in the last quarter of its life if that is shorter. */
const aheadMs = 10 * 60_000;
/** Not used in its last moments: it must still be good when it arrives. A tenth of its life if that is shorter. */
const unusedAtEndMs = 30_000;
/** Refresh tokens that were exchanged: an older file than this many exchanges ago is nobody's. */
const maxSpent = 64;

export class LoginMemory {
  readonly #now: () => number;
  readonly #onOther: (login: Login | null) => void;
  #login: Login | null = null;
  /** When the access token was given to us, or to another gateway of ours; null: it was found in its keep. */
  #obtainedMs: number | null = null;
  readonly #spent: Secret[] = [];

  /** `onOther`: a login that did not come from us, or the end of one. */
  constructor(now: () => number, onOther: (login: Login | null) => void) {
    this.#now = now;
    this.#onOther = onOther;
  }

  get login(): Login | null {
    return this.#login;
  }

  get obtainedMs(): number | null {
    return this.#obtainedMs;
  }

  /** The newer of what was found in its keep and what is known. */
  newer(found: Login | null): Login | null {
    const known = this.#login;
    if (found === null || known === null) return this.#take(found);
    if (found.access === null && found.refresh === null) return known;
    if (this.wasSpent(found.refresh)) return known;
    if (!sameValue(found.refresh, known.refresh)) return this.#take(found);
    if (found.access === null || sameValue(found.access, known.access)) return known;
    // A refresh token that is not exchanged for another does not tell which of two access tokens came later.
    return this.#obtainedMs !== null && endOf(found) <= endOf(known) ? known : this.#take(found);
  }

  /** The endpoint gave `renewed` for the login that is known. */
  exchanged(before: Login, renewed: Login, startedMs: number): void {
    if (before.refresh !== null && !sameValue(before.refresh, renewed.refresh)) {
      this.#spent.push(before.refresh);
      if (this.#spent.length > maxSpent) this.#spent.shift();
    }
    this.#login = renewed;
    this.#obtainedMs = startedMs;
  }

  /** We have exchanged it for another: where it is found, what is known is newer. */
  wasSpent(refresh: Secret | null): boolean {
    return refresh !== null && this.#spent.some((one) => sameValue(one, refresh));
  }

  /** Whether what is in its keep is ours to write over. */
  replaces(refresh: Secret | null): boolean {
    return this.wasSpent(refresh) || sameValue(refresh, this.#login?.refresh ?? null);
  }

  isGood({ expiresAtMs }: Secret): boolean {
    return expiresAtMs === null || this.#now() < expiresAtMs - this.#part(expiresAtMs, unusedAtEndMs, 10);
  }

  isNearItsEnd({ expiresAtMs }: Secret): boolean {
    return expiresAtMs !== null && this.#now() >= expiresAtMs - this.#part(expiresAtMs, aheadMs, 4);
  }

  /** A token of `login` that can be used in place of `access`; null: there is none. */
  goodOtherThan(access: Secret | null, login: Login): Secret | null {
    const found = login.access;
    return found !== null && !sameValue(found, access) && this.isGood(found) ? found : null;
  }

  /** How long the life of a token that was found is, nobody knows. */
  #part(expiresAtMs: number, usualMs: number, divisor: number): number {
    return this.#obtainedMs === null ? usualMs : Math.min(usualMs, (expiresAtMs - this.#obtainedMs) / divisor);
  }

  #take(found: Login | null): Login | null {
    if (found !== this.#login) {
      this.#login = found;
      this.#obtainedMs = found?.obtainedMs ?? null;
      this.#onOther(found);
    }
    return found;
  }
}

function endOf({ access }: Login): number {
  return access?.expiresAtMs ?? Number.POSITIVE_INFINITY;
}
