// Registrations in the order in which they came, found by their id and by what they claim, however many there are.
import type { ClaimTaken, StoredRegistration } from '../../path/shared-store.ts';

export class HeldRegistrations {
  readonly #byId = new Map<string, StoredRegistration>();
  /** The id of who has a claim. */
  readonly #holders = new Map<string, string>();

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): StoredRegistration | undefined {
    return this.#byId.get(id);
  }

  all(): StoredRegistration[] {
    return [...this.#byId.values()];
  }

  /** The first of these claims that another than this one has. */
  takenFrom({ id, claims }: Pick<StoredRegistration, 'id' | 'claims'>): ClaimTaken | null {
    for (const claim of claims) {
      const holder = this.#holders.get(claim);
      if (holder !== undefined && holder !== id) return { claim, holder };
    }
    return null;
  }

  /** In the place of what has this id. */
  put(registration: StoredRegistration): void {
    this.#release(registration.id);
    this.#byId.set(registration.id, registration);
    for (const claim of registration.claims) this.#holders.set(claim, registration.id);
  }

  delete(id: string): boolean {
    this.#release(id);
    return this.#byId.delete(id);
  }

  clear(): void {
    this.#byId.clear();
    this.#holders.clear();
  }

  #release(id: string): void {
    for (const claim of this.#byId.get(id)?.claims ?? []) {
      if (this.#holders.get(claim) === id) this.#holders.delete(claim);
    }
  }
}
