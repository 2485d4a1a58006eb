// What keeps a credential out of the answer to the request that carried it. Made by `inject/`, which alone knows the
// value, and used by `forward/`, which never sees it: bytes go in, the same number of bytes comes out.
import type { HeaderList } from './header-list.ts';

export interface AnswerScrub {
  /** How many times it was found and replaced so far. */
  readonly replaced: number;
  text(text: string): string;
  /** Names and values, in place: the list must be of this answer alone. */
  fields(list: HeaderList): void;
  /** For one body, in the order in which it comes. */
  openBody(): BodyScrub;
}

/** Takes as many bytes as it gives; only what could be the beginning of the credential waits for what comes next. */
export interface BodyScrub {
  /** How many bytes wait that were not passed on. */
  readonly waiting: number;
  /** What may be passed on now; may be empty. */
  feed(chunk: Buffer): Buffer;
  /** What is left at the end. */
  end(): Buffer;
  /**
   * Nothing more has come for a while: gives out what waits if it is too little to tell anything. Should it turn out to
   * have been the beginning after all, the rest is replaced.
   */
  release(): Buffer;
}
