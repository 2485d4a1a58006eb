// When a token endpoint may be asked again: not for a while after a failure, not at all with a refresh token that it has
// declared dead, and not over and over because an upstream goes on rejecting what it gives. Knows errors, no tokens but
// the dead one.
import type { Secret } from '../../../path/secret.ts';
import type { SourceError } from '../sources/secret-source.ts';
import { sameValue } from './login-keep.ts';

const firstPauseMs = 2_000;
const longestPauseMs = 5 * 60_000;
/** How often it is looked whether a login that ended was replaced, where that takes a look at all. */
const lookAgainMs = 5_000;
/** A token that is rejected so soon after it was given is not rejected for its age. */
const youngMs = 30_000;
/** Guards: a sandbox that provokes 401s, so that the login is renewed until the endpoint has had enough of us. */
const longestReplacePauseMs = 10 * 60_000;
const calmMs = 60 * 60_000;

export class OAuthBackOff {
  readonly #now: () => number;
  #failures = 0;
  #failure: { readonly error: SourceError; readonly sinceMs: number; readonly untilMs: number } | null = null;
  #dead: { readonly refresh: Secret; readonly error: SourceError } | null = null;
  #replaced = { count: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Why it may not be asked now; null: it may. */
  problem(refresh: Secret | null): SourceError | null {
    return this.finalProblem(refresh) ?? this.pause();
  }

  /** The same, without regard to the login: there may be another one by now. */
  pause(): SourceError | null {
    if (this.#failure === null) return null;
    const nowMs = this.#now();
    const { error, sinceMs, untilMs } = this.#failure;
    // A clock that was set back ends the pause: it would last as long as the clock was wrong.
    return sinceMs <= nowMs && nowMs < untilMs ? error : null;
  }

  /** What went wrong last and is not mended yet, whether or not it may be tried again by now. */
  unmended(refresh: Secret | null): SourceError | null {
    return this.finalProblem(refresh) ?? this.#failure?.error ?? null;
  }

  finalProblem(refresh: Secret | null): SourceError | null {
    return refresh !== null && this.#dead !== null && sameValue(refresh, this.#dead.refresh) ? this.#dead.error : null;
  }

  /** This refresh token is of no more use. */
  end(refresh: Secret, error: SourceError): SourceError {
    this.#dead = { refresh, error };
    return error;
  }

  /** How long it is left alone; null: until there is another login. */
  failed(error: SourceError): number | null {
    const sinceMs = this.#now();
    if (error === this.#dead?.error) {
      this.#failure = { error, sinceMs, untilMs: sinceMs + lookAgainMs };
      return null;
    }
    // Jitter: gateways that failed together do not come back together.
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures * (1 + Math.random() / 4), longestPauseMs);
    this.#failures = Math.min(this.#failures + 1, 20);
    this.#failure = { error, sinceMs, untilMs: sinceMs + pauseMs };
    return pauseMs;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#failure = null;
    this.#dead = null;
  }

  /** There is another login: what is known of the last one says nothing about it. */
  forget(): void {
    this.succeeded();
    this.#replaced = { count: 0, atMs: Number.NEGATIVE_INFINITY };
  }

  /** Whether a token that an upstream rejects is worth another; counts as done if it is. */
  mayReplaceRejected(obtainedMs: number | null): boolean {
    const nowMs = this.#now();
    if (obtainedMs !== null && obtainedMs <= nowMs && nowMs - obtainedMs < youngMs) return false;
    const { count, atMs } = this.#replaced;
    const calm = nowMs - atMs >= calmMs;
    const pauseMs = Math.min(youngMs * 2 ** (count - 1), longestReplacePauseMs);
    if (!calm && atMs <= nowMs && nowMs - atMs < pauseMs) return false;
    this.#replaced = { count: calm ? 1 : Math.min(count + 1, 20), atMs: nowMs };
    return true;
  }
}
