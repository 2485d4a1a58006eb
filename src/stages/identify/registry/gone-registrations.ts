// Tombstones: remembers which registrations have ended, so that a clock that is set back, or a store that has not heard of
// the end yet, does not bring one back. Bounded: the oldest are forgotten first.
import type { StoredRegistration } from '../../../path/shared-store.ts';
import type { SandboxRecord, StoredSandbox } from './sandbox-record.ts';

const maxRemembered = 10_000;

interface Gone {
  readonly createdAt: string;
  /** It was removed here; false: its time was over. */
  readonly wasRemoved: boolean;
  readonly expiresAtMs: number;
}

export type ReplicaStanding = 'new' | 'over' | 'removed';

export class GoneRegistrations {
  readonly #gone = new Map<string, Gone>();

  note({ id, createdAt, expiresAtMs }: SandboxRecord, wasRemoved: boolean): void {
    this.#gone.delete(id);
    this.#gone.set(id, { createdAt, expiresAtMs, wasRemoved });
    if (this.#gone.size > maxRemembered) this.#gone.delete(this.#gone.keys().next().value!);
  }

  /** Of one whose time was over here, another gateway may have moved the end. */
  judge({ id, expiresAtMs }: StoredRegistration, { created_at: createdAt }: StoredSandbox): ReplicaStanding {
    const gone = this.#gone.get(id);
    if (gone === undefined || gone.createdAt !== createdAt) return 'new';
    if (gone.wasRemoved) return 'removed';
    return expiresAtMs > gone.expiresAtMs ? 'new' : 'over';
  }
}
