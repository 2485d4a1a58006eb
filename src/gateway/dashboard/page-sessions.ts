// Who has opened the page: a cookie and a word that only a spent token gives. It takes both: a browser shows the cookie to every
// port of this machine, and the word is kept where only the page's own scripts read. Keeps digests, never what it gave out.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setMaxListeners } from 'node:events';

export interface PageSession {
  /** Aborted when the session has ended: what it has open is closed. */
  readonly ended: AbortSignal;
}

/** What a visitor takes along. */
interface GivenSession {
  readonly cookie: string;
  /** Sent with everything that is asked below /api/: another origin can send the cookie's request, not this. */
  readonly word: string;
}

interface KeptSession extends PageSession {
  key: string;
  wordDigest: Buffer;
  readonly end: AbortController;
  usedMs: number;
}

const idleMs = 12 * 3_600_000;
const maxSessions = 32;

export class PageSessions {
  readonly #now: () => number;
  /** In order of their last use. */
  readonly #kept = new Map<string, KeptSession>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get size(): number {
    return this.#kept.size;
  }

  /**
   * A browser that comes again goes on with its session, under a new cookie and word: its pages share the connections that it
   * has. The one that was idle longest goes when there are too many.
   */
  open(before: PageSession | null = null): GivenSession {
    const cookie = randomBytes(32).toString('base64url');
    const word = randomBytes(32).toString('base64url');
    const known = before as KeptSession | null;
    if (known !== null && this.#kept.delete(known.key)) {
      known.key = digestOf(cookie);
      known.wordDigest = digest(word);
      known.usedMs = this.#now();
      this.#kept.set(known.key, known);
      return { cookie, word };
    }
    const end = new AbortController();
    // One for each page that it has open.
    setMaxListeners(0, end.signal);
    const key = digestOf(cookie);
    this.#forgetIdle();
    const oldest = this.#kept.values().next().value;
    if (this.#kept.size >= maxSessions && oldest !== undefined) this.#end(oldest);
    this.#kept.set(key, { key, wordDigest: digest(word), end, ended: end.signal, usedMs: this.#now() });
    return { cookie, word };
  }

  /** The session of a cookie, which is used by this; null: none. */
  find(value: string | null): PageSession | null {
    // Looked up by a digest: how much of a wrong cookie is right cannot be told from how long it takes.
    const session = value === null ? undefined : this.#kept.get(digestOf(value));
    if (session === undefined) return null;
    return this.touch(session) ? session : null;
  }

  /** It is in use, e.g. by a page that is open. False: it has ended. */
  touch(session: PageSession): boolean {
    this.#forgetIdle();
    const kept = session as KeptSession;
    if (!this.#kept.delete(kept.key)) return false;
    kept.usedMs = this.#now();
    this.#kept.set(kept.key, kept);
    return true;
  }

  leave(session: PageSession): void {
    this.#end(session as KeptSession);
  }

  endAll(): void {
    for (const session of [...this.#kept.values()]) this.#end(session);
  }

  #forgetIdle(): void {
    for (const session of [...this.#kept.values()]) {
      if (session.usedMs + idleMs > this.#now()) return;
      this.#end(session);
    }
  }

  #end(session: KeptSession): void {
    this.#kept.delete(session.key);
    session.end.abort();
  }
}

/** Whether a request repeats the session's own word. */
export function knowsWord(session: PageSession, given: string | null | undefined): boolean {
  return typeof given === 'string' && timingSafeEqual((session as KeptSession).wordDigest, digest(given));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function digestOf(value: string): string {
  return digest(value).toString('base64');
}
