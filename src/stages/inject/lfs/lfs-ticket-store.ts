// Keeps what LFS tickets stand for: the addresses of a storage and the fields that open them, as secrets, in memory, bounded
// in all and for each sandbox (the oldest go), and, where gateways or workers share a store, in its vault as well. Hands out
// the grant to whoever judges; the secrets stay in inject/.
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { OutgoingOrigin } from '../../../path/exchange/outgoing-request.ts';
import { reveal, type Secret } from '../../../path/secret.ts';
import { accessFrom, type LfsTicketVault } from './lfs-ticket-vault.ts';

/** The same as in the port of the rules, which this room cannot see. */
export interface TicketGrant {
  readonly sandboxId: string;
  readonly sandboxSince: string;
  readonly host: string;
  readonly port: number;
  readonly repository: string;
  readonly action: 'download' | 'upload' | 'verify';
  readonly oid: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface TicketAddress {
  readonly origin: OutgoingOrigin;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** What a ticket stands for. */
export interface StorageAccess {
  readonly grant: TicketGrant;
  readonly origin: OutgoingOrigin;
  readonly target: Secret;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
}

interface StoreLimits {
  readonly maxTickets: number;
  readonly maxBytes: number;
  readonly maxPerSandbox: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** git-lfs asks for a hundred objects at a time, with two addresses each at most. A signed address has 1 to 2 KiB. */
const usualLimits: StoreLimits = {
  maxTickets: 50_000,
  maxBytes: 64 * 1024 ** 2,
  maxPerSandbox: 5_000,
  now: Date.now,
};
const ticketBytes = 24;

export class LfsTicketStore {
  readonly #limits: StoreLimits;
  readonly #vault: LfsTicketVault | null;
  #made: LRUCache<string, StorageAccess> | null = null;
  /** In the order in which they were issued. */
  readonly #bySandbox = new Map<string, Set<string>>();

  /** `vault` null: no other process serves these sandboxes. */
  constructor(limits: Partial<StoreLimits> = {}, vault: LfsTicketVault | null = null) {
    this.#limits = { ...usualLimits, ...limits };
    this.#vault = vault;
  }

  /** Made with the first ticket: most gateways never issue one, and it takes its whole room at once. */
  get #kept(): LRUCache<string, StorageAccess> {
    this.#made ??= new LRUCache({
      max: this.#limits.maxTickets,
      maxSize: this.#limits.maxBytes,
      dispose: ({ grant }, ticket) => {
        this.#forget(grant.sandboxId, ticket);
        this.#vault?.remove(ticket);
      },
    });
    return this.#made;
  }

  get size(): number {
    return this.#kept.size;
  }

  issue(grant: TicketGrant, address: TicketAddress): string {
    const ticket = randomBytes(ticketBytes).toString('base64url');
    const access = accessFrom({ grant, ...address });
    this.#keep(ticket, access);
    this.#vault?.put(ticket, access);
    return ticket;
  }

  /** Null for what was never issued, or is over. What another process has issued is known here from then on. */
  find(ticket: string): TicketGrant | null | Promise<TicketGrant | null> {
    const access = this.open(ticket);
    if (access !== null || this.#vault === null || !isTicket(ticket)) return access?.grant ?? null;
    return this.#vault.find(ticket).then((found) => {
      if (found !== null && found.grant.expiresAt > this.#limits.now()) this.#keep(ticket, found);
      return this.open(ticket)?.grant ?? null;
    });
  }

  /** What `find` has found. */
  open(ticket: string): StorageAccess | null {
    const access = this.#kept.peek(ticket);
    if (access === undefined) return null;
    if (access.grant.expiresAt > this.#limits.now()) return access;
    this.#kept.delete(ticket);
    return null;
  }

  /** Every ticket of a sandbox that is gone. */
  drop(sandboxId: string): void {
    for (const ticket of [...(this.#bySandbox.get(sandboxId) ?? [])]) this.#kept.delete(ticket);
  }

  #keep(ticket: string, access: StorageAccess): void {
    const { grant, target, headers } = access;
    // Two requests may have found it at the same time.
    if (this.#kept.has(ticket)) return;
    const own = this.#bySandbox.get(grant.sandboxId) ?? new Set();
    if (own.size >= this.#limits.maxPerSandbox) this.#kept.delete(own.values().next().value!);
    own.add(ticket);
    this.#bySandbox.set(grant.sandboxId, own);
    const bytes = headers.reduce(
      (sum, [name, value]) => sum + name.length + reveal(value).length,
      reveal(target).length,
    );
    this.#kept.set(ticket, access, { size: 256 + bytes });
  }

  #forget(sandboxId: string, ticket: string): void {
    const own = this.#bySandbox.get(sandboxId);
    own?.delete(ticket);
    if (own?.size === 0) this.#bySandbox.delete(sandboxId);
  }
}

/** Nothing else is worth a question. */
function isTicket(text: string): boolean {
  return /^[\w-]{32}$/.test(text);
}
