// A registry with its backup in memory and a clock the test moves.
import { type RegistryOptions, SandboxRegistry } from '../../src/identify/registry.ts';
import type { RegistryBackup } from '../../src/identify/registry-backup.ts';
import type { StoredSandbox } from '../../src/identify/sandbox-record.ts';

export class TestClock {
  nowMs = Date.parse('2026-01-01T00:00:00Z');

  readonly now = (): number => this.nowMs;

  advance(ms: number): void {
    this.nowMs += ms;
  }
}

export class MemoryBackup implements RegistryBackup {
  sandboxes: readonly StoredSandbox[] = [];
  saves = 0;
  failure: Error | null = null;

  async load(): Promise<readonly StoredSandbox[]> {
    return this.sandboxes;
  }

  async save(sandboxes: readonly StoredSandbox[]): Promise<void> {
    this.saves++;
    if (this.failure !== null) throw this.failure;
    this.sandboxes = sandboxes;
  }
}

export interface TestRegistry {
  readonly registry: SandboxRegistry;
  readonly clock: TestClock;
  readonly backup: MemoryBackup;
}

export async function openTestRegistry(over: Partial<RegistryOptions> = {}): Promise<TestRegistry> {
  const clock = new TestClock();
  const backup = new MemoryBackup();
  const registry = await SandboxRegistry.open({
    backup,
    knownCredentials: () => new Set(['github', 'anthropic']),
    socketDirectory: '/run/sallyport/sandboxes',
    now: clock.now,
    ...over,
  });
  return { registry, clock, backup };
}
