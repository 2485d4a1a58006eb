// Addresses for one visit: who has such a token may open the page, once and soon. Whoever can ask for one already holds the
// admin socket. Only digests are kept, so that nothing in memory opens the page; a token is never logged.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

interface Outstanding {
  readonly digest: Buffer;
  readonly untilMs: number;
}

/** A person opens the address now, not tomorrow: it may lie in the scroll-back of a terminal. */
const goodForMs = 10 * 60_000;
/** More are not in anybody's hands at once; the oldest is forgotten. */
const maxOutstanding = 8;

export class VisitTokens {
  readonly #now: () => number;
  #outstanding: Outstanding[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** 32 random bytes, fit for an address. */
  mint(): string {
    const token = randomBytes(32).toString('base64url');
    const kept = this.#stillGood().slice(1 - maxOutstanding);
    this.#outstanding = [...kept, { digest: digestOf(token), untilMs: this.#now() + goodForMs }];
    return token;
  }

  /** True once for a token that was given out. Every one is compared, so that time tells nothing. */
  spend(token: string): boolean {
    const given = digestOf(token);
    let spent: Outstanding | null = null;
    for (const one of this.#stillGood()) if (timingSafeEqual(one.digest, given)) spent = one;
    this.#outstanding = this.#stillGood().filter((one) => one !== spent);
    return spent !== null;
  }

  #stillGood(): Outstanding[] {
    return this.#outstanding.filter(({ untilMs }) => untilMs > this.#now());
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
