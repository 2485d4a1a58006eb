// A registry whose store is in memory, and a clock the test moves.
import type { ClaimTaken, RegistrationStore, StoredRegistration } from '../../src/path/shared-store.ts';
import { type RegistryOptions, SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import type { StoredSandbox } from '../../src/stages/identify/registry/sandbox-record.ts';
import { readRegistered } from '../../src/stages/identify/registry/stored-registration.ts';

export class TestClock {
  nowMs = Date.parse('2026-01-01T00:00:00Z');

  readonly now = (): number => this.nowMs;

  advance(ms: number): void {
    this.nowMs += ms;
  }
}

/** Outlives a registry, as the file does. */
export class MemoryBackup implements RegistrationStore {
  readonly #held = new Map<string, StoredRegistration>();
  failure: Error | null = null;

  get sandboxes(): StoredSandbox[] {
    return [...this.#held.values()].map(readRegistered);
  }

  async load(): Promise<readonly StoredRegistration[]> {
    return [...this.#held.values()];
  }

  async add(registration: StoredRegistration): Promise<ClaimTaken | null> {
    if (this.failure !== null) throw this.failure;
    this.#held.set(registration.id, registration);
    return null;
  }

  async replace(registration: StoredRegistration): Promise<boolean> {
    if (this.failure !== null) throw this.failure;
    if (!this.#held.has(registration.id)) return false;
    this.#held.set(registration.id, registration);
    return true;
  }

  async remove(id: string): Promise<{ unconfirmed: string[] }> {
    if (this.failure !== null) throw this.failure;
    this.#held.delete(id);
    return { unconfirmed: [] };
  }

  extend(id: string, expiresAtMs: number): void {
    const held = this.#held.get(id);
    if (held !== undefined) this.#held.set(id, { ...held, expiresAtMs });
  }

  watch(): void {}
}

export interface TestRegistry {
  readonly registry: SandboxRegistry;
  readonly clock: TestClock;
  readonly backup: MemoryBackup;
}

export interface TestRegistryOptions extends Partial<Omit<RegistryOptions, 'store'>> {
  readonly backup?: MemoryBackup;
}

export async function openTestRegistry(options: TestRegistryOptions = {}): Promise<TestRegistry> {
  const { backup = new MemoryBackup(), ...over } = options;
  const clock = new TestClock();
  const registry = await SandboxRegistry.open({
    store: { registrations: backup, away: null, onAway: () => () => {} },
    knownCredentials: () => new Set(['github', 'anthropic']),
    socketDirectory: '/run/sallyport/sandboxes',
    now: clock.now,
    ...over,
  });
  return { registry, clock, backup };
}
