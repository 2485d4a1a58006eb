// The request as it will go out, real credential included. Made by `inject/`, written to the wire by `forward/`,
// and by no one else: like a Secret it does not print or serialize.
import type { AnswerScrub } from './answer-scrub.ts';
import type { HeaderList } from './header-list.ts';

export interface OutgoingOrigin {
  readonly scheme: 'https';
  readonly host: string;
  readonly port: number;
}

/** A whole answer that the gateway gives itself. */
export interface OwnAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export interface OutgoingParts {
  /** Where it goes, when that is not where the request was addressed to. */
  readonly origin?: OutgoingOrigin | null;
  /** Keeps credentials out of its answer; null: nothing is searched. */
  readonly scrub?: AnswerScrub | null;
  /**
   * The upstream took its credential for no good (401): the same request with another one, or null when there is none to
   * be had. Asked at most once for a request.
   */
  readonly renew?: (() => Promise<OutgoingRequest | null>) | null;
  /** Nothing is sent: the client gets this. */
  readonly answer?: OwnAnswer | null;
}

export class OutgoingRequest {
  readonly #target: string;
  readonly #headers: HeaderList;
  readonly origin: OutgoingOrigin | null;
  readonly scrub: AnswerScrub | null;
  readonly renew: (() => Promise<OutgoingRequest | null>) | null;
  readonly answer: OwnAnswer | null;

  constructor(target: string, headers: HeaderList, parts: OutgoingParts = {}) {
    this.#target = target;
    this.#headers = headers;
    this.origin = parts.origin ?? null;
    this.scrub = parts.scrub ?? null;
    this.renew = parts.renew ?? null;
    this.answer = parts.answer ?? null;
  }

  /** Origin-form target, as it goes on the wire (may hold a key in the query). */
  get target(): string {
    return this.#target;
  }

  /** End-to-end fields without Host, which `forward/` writes from the canonical authority. */
  get headers(): HeaderList {
    return this.#headers;
  }

  toString(): string {
    return '[outgoing request]';
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}
