// The policy in force. A change of its file (or a call) loads it anew; what does not compile is reported and the old
// one stays. Whoever asks gets a whole policy, never a mixture of two.
import { statSync } from 'node:fs';
import type { CompiledPolicy } from './compiled.ts';
import { loadPolicy } from './load-policy.ts';
import type { MachineFiles } from './machine-files.ts';
import { formatPolicyError, type PolicyError } from './policy-error.ts';

export class PolicyRejected extends Error {
  override readonly name = 'PolicyRejected';
  readonly errors: readonly PolicyError[];

  constructor(errors: readonly PolicyError[]) {
    super(errors.map(formatPolicyError).join('\n'));
    this.errors = errors;
  }
}

/** Looking at a file once a second sees every editor's way of saving, bind mounts included, which watching does not. */
const lookEveryMs = 1_000;

export class LivePolicy {
  readonly #file: string | null;
  readonly #machine: MachineFiles;
  readonly #listeners = new Set<(policy: CompiledPolicy) => void>();
  readonly #judge: (policy: CompiledPolicy) => void;
  #current: CompiledPolicy;
  #rejected: Error | null = null;
  #seen: string;
  #timer: NodeJS.Timeout | null = null;

  private constructor(
    file: string | null,
    machine: MachineFiles,
    judge: (policy: CompiledPolicy) => void,
    policy: CompiledPolicy,
    seen: string,
  ) {
    this.#file = file;
    this.#machine = machine;
    this.#judge = judge;
    this.#current = policy;
    this.#seen = seen;
  }

  /**
   * Throws PolicyRejected. `file` null: the embedded default. `judge` throws at a policy that is valid and still must not
   * come into force, now or later.
   */
  static async open(
    file: string | null,
    machine: MachineFiles,
    judge: (policy: CompiledPolicy) => void = () => {},
  ): Promise<LivePolicy> {
    const seen = stampOf(file);
    const policy = await load(file, machine, judge);
    return new LivePolicy(file, machine, judge, policy, seen);
  }

  get current(): CompiledPolicy {
    return this.#current;
  }

  /** Why the file as it is now is not in force; null when it is. */
  get rejected(): Error | null {
    return this.#rejected;
  }

  onChange(listener: (policy: CompiledPolicy) => void): void {
    this.#listeners.add(listener);
  }

  /** Loads the file again. Throws PolicyRejected; the old policy then stays in force. */
  async reload(): Promise<void> {
    this.#seen = stampOf(this.#file);
    let policy: CompiledPolicy;
    try {
      policy = await load(this.#file, this.#machine, this.#judge);
    } catch (error) {
      this.#rejected = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
    this.#rejected = null;
    this.#current = policy;
    for (const listener of this.#listeners) listener(policy);
  }

  /** Reloads when the file changes; `report` hears how it went. */
  watch(report: (error: Error | null) => void): void {
    if (this.#file === null || this.#timer !== null) return;
    this.#timer = setInterval(() => {
      if (stampOf(this.#file) === this.#seen) return;
      this.reload().then(
        () => report(null),
        (error: Error) => report(error),
      );
    }, lookEveryMs);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }
}

function stampOf(file: string | null): string {
  if (file === null) return '';
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? 'absent' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

async function load(
  file: string | null,
  machine: MachineFiles,
  judge: (policy: CompiledPolicy) => void,
): Promise<CompiledPolicy> {
  const result = await loadPolicy(file, machine);
  if (!result.ok) throw new PolicyRejected(result.errors);
  judge(result.policy);
  return result.policy;
}
