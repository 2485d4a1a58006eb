// The two ends of a conversation as the stages see them: a request body that can be drawn, an answer that can be
// given. Implemented by `accept/` (HTTP/1.1, HTTP/2, tunnel) and driven by `forward/`. Plain method calls, no
// emitters: this is the hot path. Back-pressure: `write` returns false, and `onDrain` is called when to go on.
import type { HeaderList } from './header-list.ts';

export interface BodyWriter {
  /** False: stop until `onDrain` is called. */
  write(chunk: Buffer): boolean;
  /** Sends a head that was held back to leave together with the first bytes of its body. */
  flush(): void;
  /** The message is complete. Trailers only in payload form (on the wire form they are already in the bytes). */
  end(trailers: HeaderList | null): void;
  /** The source broke before the message was complete; the receiver must see that it is not whole. */
  fail(reason: Error): void;
  /** Set by whoever writes. */
  onDrain: (() => void) | null;
}

/** How the length of a body is known. `until-close`: answers without a length, tunnels and upgraded connections. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

/**
 * In which form an exchange gives and takes bodies. `wire` (HTTP/1.1): bytes with their framing as they came, already
 * checked, so that HTTP/1.1 to HTTP/1.1 copies nothing. `payload` (HTTP/2): the content alone, trailers to `end`.
 */
export type BodyForm = 'wire' | 'payload';

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** End-to-end fields only; the receiving side adds its own hop-by-hop ones. */
  readonly headers: HeaderList;
  readonly framing: Framing;
}

export interface Exchange {
  readonly form: BodyForm;
  readonly requestFraming: Framing;
  /** Bytes of request body taken from, and of answer given to, the client so far (for the journal). */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** True once the head of a final answer has been given. */
  readonly answered: boolean;
  /**
   * Until when a body was last held back here on purpose, as `performance.now()` tells it: Infinity while it is. That time
   * is nobody's silence. Left out: it never was.
   */
  readonly heldBackUntilMs?: number;

  /**
   * The same conversation in payload form, for a stage that reads or changes a body. To be asked before anything was
   * taken or given, and used in place of the exchange from then on.
   */
  asPayload(): Exchange;
  /** Starts sending the request body; must be called once if the answer is to be forwarded. Honours back-pressure. */
  sendBody(to: BodyWriter): void;
  /** An interim answer (103 and the like). 100 is the exchange's own business. */
  inform(status: number, headers: HeaderList): void;
  /** Gives the head of the final answer; the body goes to the writer that is returned. */
  respond(head: ResponseHead): BodyWriter;
  /**
   * Switches to raw bytes both ways: after `respond` with 101, or on a tunnel. Client bytes go to `to`; upstream
   * bytes go to the writer that is returned.
   */
  goRaw(to: BodyWriter): BodyWriter;
  /** A whole answer of our own. An unread request body ends the connection after it. */
  answer(status: number, headers: HeaderList, body: Buffer): void;
  /** Ends the conversation at once: the answer can no longer be made whole. */
  abort(): void;
  /** Called at most once, when the client goes away before the answer is complete. */
  onAbandoned: (() => void) | null;
  /** Called at most once, when the answer is complete or can never be. */
  onFinished: (() => void) | null;
}
