// What every door shares with the rest of the gateway: what it hands on, what it asks, and how its connections are
// counted and ended. Types only.
import type { SecureContext } from 'node:tls';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import type { Caller, RawRequest } from '../../../path/flow.ts';
import type { Refusal } from '../../../path/refusal.ts';
import type { TcpRule } from '../../../policy/compiled.ts';
import type { CountQuestion } from '../dns/dns-limits.ts';
import type { ConnectionSettings } from '../http/connection-settings.ts';

export interface Arrival {
  readonly caller: Caller;
  readonly request: RawRequest;
  readonly exchange: DoorExchange;
}

export interface DoorExchange extends Exchange {
  /** Why the door closed on the client half-way; null or left out: it did not. */
  readonly cut?: Refusal | null;
}

/** What a door needs from the rest of the gateway. */
export interface DoorPorts {
  /** Runs the whole path for a request. Returns the sandbox it turned out to come from. */
  serve(arrival: Arrival): string | null;
  /** Judges a CONNECT: null when it was refused (and answered), else how to go on. */
  admit(arrival: Arrival): Admitted | null;
  /** Why it would not be admitted; null: it would. Answers nothing and leaves no record. */
  whyNot(arrival: Arrival): Refusal | null;
  /** Is it to pass undecrypted? Answers nothing and leaves no record. */
  tunnels(arrival: Arrival): boolean;
  /**
   * Whether the caller at this address must first be confirmed (by Docker, on its first traffic): null when there is nothing
   * to wait for. It never rejects: what is not confirmed is refused by the path, as a stranger or until Docker answers.
   */
  confirm(address: string): Promise<void> | null;
  /** Absent: everything is read. */
  readonly plain?: PlainPorts;
  contextFor(host: string): SecureContext;
  settings(): ConnectionSettings;
  /** Counts a DNS question, or says why it is one too many. */
  countQuestion: CountQuestion;
  /** `dns.unknown`: whether a name that is not allowed is answered at the door of one sandbox, and refused in words there. */
  answersUnknown(): boolean;
  /** A connection that is not granted is closed at once, and never `closed`. */
  opened(connection: OpenConnection): Opening | Promise<Opening>;
  /** It has proven whose it is; null: another connection on top of it is counted. One that is not granted is to be closed. */
  identified(connection: OpenConnection, sandboxId: string | null): Opening | Promise<Opening>;
  closed(connection: OpenConnection): void;
}

/** How a CONNECT goes on: `tunnel` passes the bytes of a TLS connection, `tcp` any bytes. */
export interface Admitted {
  readonly tunnel: boolean;
  readonly tcp: boolean;
  readonly sandboxId: string;
}

/** What a door asks about plain connections. */
export interface PlainPorts {
  /** What of the policy tells them from those that are read. */
  places(): PlainPlaces;
  /** Why one of this sandbox that is open would not be let in now; null: it would. Counts nothing. */
  whyNoLonger(request: RawRequest, sandboxId: string | null): Refusal | null;
}

/** The part of the policy that the doors see. */
export interface PlainPlaces {
  readonly tcp: readonly Pick<TcpRule, 'host' | 'ports'>[];
  /** Ports on which requests of other hosts are read. */
  readonly read: ReadonlySet<number>;
}

/** Or by which limit it is not. */
export type Opening = true | 'limit.connections' | 'limit.connection-rate';

/** A client connection as the service sees it: to count, to drain, to cut when its sandbox is gone. */
export interface OpenConnection {
  readonly address: string | null;
  readonly socketOf: string | null;
  /** The name of the door, for the journal. */
  readonly door?: string;
  readonly sandboxId: string | null;
  /** Who its place is counted for; left out: its address or socket. */
  readonly countedAs?: string | null;
  /** Ends it when what is under way has ended. */
  close(): void;
  destroy(): void;
  /** Another policy is in force; left out: what comes through it is judged request by request. */
  judgeAgain?(): void;
}

export interface DoorIdentity {
  readonly name: string;
  /** Set on a private socket and a namespace door: the only sandbox it serves. */
  readonly socketOf: string | null;
}
