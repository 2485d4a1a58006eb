// What a connection knows of the requests on it before they are read, and the limits it keeps. Types only.
import type { Sweeper } from '../../../kit/sweeper.ts';

/** What is known of every request on a connection before it is read. */
export interface ConnectionOrigin {
  readonly scheme: 'https' | 'http';
  readonly connect: string | null;
  readonly sni: string | null;
  /** Where it wanted to go, `address:port`; null where it was spoken to as a proxy. */
  readonly destination: string | null;
}

export interface ConnectionSettings {
  readonly sweeper: Sweeper;
  readonly headBytes: number;
  readonly requestBodyBytes: number;
  /** Lower-case name of a field in which a credential goes out: it must not come late, past what judged the head. */
  readonly carriesCredential: (key: string) => boolean;
  /** A head must be whole this long after its first byte, the first one after the connection: slow-loris. */
  readonly clientHeadTimeoutMs: number;
  readonly idleTimeoutMs: number;
}
