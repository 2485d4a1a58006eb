// The request as it will go out, real credential included. Made by `inject/`, written to the wire by `forward/`,
// and by no one else: like a Secret it does not print or serialize.
import type { AnswerScrub } from './answer-scrub.ts';
import type { HeaderList } from './header-list.ts';

export interface OutgoingOrigin {
  readonly scheme: 'https';
  readonly host: string;
  readonly port: number;
}

export class OutgoingRequest {
  readonly #target: string;
  readonly #headers: HeaderList;
  /** Where it goes, when that is not where the request was addressed to. */
  readonly origin: OutgoingOrigin | null;
  /** Keeps the credential in it out of its answer; null: there is none in it. */
  readonly scrub: AnswerScrub | null;

  constructor(
    target: string,
    headers: HeaderList,
    origin: OutgoingOrigin | null = null,
    scrub: AnswerScrub | null = null,
  ) {
    this.#target = target;
    this.#headers = headers;
    this.origin = origin;
    this.scrub = scrub;
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
