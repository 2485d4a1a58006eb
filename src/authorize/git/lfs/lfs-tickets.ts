// A ticket stands for one address of an LFS storage: the sandbox holds the ticket, the gateway the address and what
// proves the right to use it. The port through which the rules make and look up tickets; behind it, inject/ keeps what is
// secret.

export type LfsAction = 'download' | 'upload' | 'verify';

/** What a ticket is good for. */
export interface LfsGrant {
  readonly sandboxId: string;
  /** Canonical host of the LFS server, and repository: the ticket is honoured under its own address only. */
  readonly host: string;
  readonly repository: string;
  readonly action: LfsAction;
  readonly oid: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Where the storage wants the object, as the batch answer said it. */
export interface LfsAddress {
  readonly href: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface LfsTickets {
  issue(grant: LfsGrant, address: LfsAddress): string;
  /** Null for what was never issued, or is over. */
  find(ticket: string): LfsGrant | null;
}
