// What an exchange of HTTP/1.1 needs of the connection it happens on. A type alone.
import type { Socket } from 'node:net';

/** The connection an exchange happens on. */
export interface ExchangeHost {
  readonly socket: Socket;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
  readonly carriesCredential: (key: string) => boolean;
  readonly closing: boolean;
  pause(): void;
  resume(): void;
  /** The rest of the body is the client's to send now. */
  awaitBytes(): void;
  /** The client has more of its answer before it than it takes. */
  awaitIntake(): void;
  /** Bytes past the end of this request. */
  keepWaiting(bytes: Buffer): void;
  takeWaiting(): Buffer | null;
  next(): void;
  endLingering(): void;
  release(): Buffer | null;
  /** Breaks the connection off so that nobody can take it for an end in good order. */
  reset(): void;
}
