// A ticket stands for one address of an LFS storage: the sandbox holds the ticket, the gateway the address and what
// proves the right to use it. The port through which the rules make and look up tickets; behind it, inject/ keeps what is
// secret.
import type { OutgoingOrigin } from '../../../../path/exchange/outgoing-request.ts';

export type LfsAction = 'download' | 'upload' | 'verify';

/** What a ticket is good for. */
export interface LfsGrant {
  readonly sandboxId: string;
  /** When it was registered: a later registration under the same id is another sandbox. */
  readonly sandboxSince: string;
  /** Canonical host and port of the LFS server, and repository: the ticket is honoured under its own address only. */
  readonly host: string;
  readonly port: number;
  readonly repository: string;
  readonly action: LfsAction;
  readonly oid: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Where the storage wants the object, as the batch answer said it. */
export interface LfsAddress {
  readonly origin: OutgoingOrigin;
  /** Path and query, which may hold a signature. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface LfsTickets {
  issue(grant: LfsGrant, address: LfsAddress): string;
  /** Null for what was never issued, or is over. */
  find(ticket: string): LfsGrant | null | Promise<LfsGrant | null>;
}
