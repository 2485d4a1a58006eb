// Shares what LFS tickets stand for with other gateways and workers: one of them may answer the batch, and another serve its
// objects. The vault seals what leaves this process; the ticket itself is not written there, only what it hashes to.
import { hash } from 'node:crypto';
import { reveal, Secret } from '../../../path/secret.ts';
import type { SharedVault } from '../../../path/shared-store.ts';
import type { StorageAccess, TicketAddress, TicketGrant } from './lfs-ticket-store.ts';

/** The client may be faster at the other gateway than the ticket is: who finds nothing looks once more. */
const lookAgainMs = 100;

export class LfsTicketVault {
  readonly #vault: SharedVault;
  readonly #now: () => number;

  /** `now`: milliseconds since the epoch. */
  constructor(vault: SharedVault, now: () => number = Date.now) {
    this.#vault = vault;
    this.#now = now;
  }

  /** A ticket that could not be put there is good where it was issued. */
  put(ticket: string, access: StorageAccess): void {
    const { grant, origin, target, headers } = access;
    const fields = headers.map(([name, value]) => [name, reveal(value)] as const);
    const text = JSON.stringify({ grant, origin, target: reveal(target), headers: fields } satisfies Written);
    this.#vault.put(keyOf(ticket), Buffer.from(text), grant.expiresAt - this.#now()).catch(() => {});
  }

  async find(ticket: string): Promise<StorageAccess | null> {
    try {
      const found = (await this.#vault.get(keyOf(ticket))) ?? (await this.#findLater(ticket));
      return found === null ? null : accessFrom(JSON.parse(found.toString('utf8')) as Written);
    } catch {
      // A store that is away knows no ticket.
      return null;
    }
  }

  remove(ticket: string): void {
    this.#vault.remove(keyOf(ticket)).catch(() => {});
  }

  async #findLater(ticket: string): Promise<Buffer | null> {
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    return this.#vault.get(keyOf(ticket));
  }
}

interface Written extends TicketAddress {
  readonly grant: TicketGrant;
}

export function accessFrom({ grant, origin, target, headers }: Written): StorageAccess {
  return {
    grant,
    origin,
    target: new Secret('lfs address', target),
    headers: headers.map(([name, value]) => [name, new Secret(`lfs ${name}`, value)] as const),
  };
}

function keyOf(ticket: string): string {
  return `lfs ${hash('sha256', ticket, 'base64url')}`;
}
