// The policy in force. A change of its file (or a call) loads it anew; what does not compile, or may not be followed, is
// reported and the old one stays. Whoever asks gets a whole policy, never a mixture of two.
import { statSync } from 'node:fs';
import type { CompiledPolicy } from '../compiled.ts';
import { PolicyRejected } from '../schema/policy-rejected.ts';
import { loadPolicy } from './load-policy.ts';
import type { MachineFiles } from './machine-files.ts';

/** Looking at a file once a second sees every editor's way of saving, bind mounts included, which watching does not. */
const lookEveryMs = 1_000;
const calmMs = 100;
/** Somebody who never stops writing is looked at again a second later. */
const maxAttempts = 5;

export class LivePolicy {
  readonly #file: string | null;
  readonly #machine: MachineFiles;
  readonly #listeners = new Set<(policy: CompiledPolicy) => void>();
  readonly #judge: (policy: CompiledPolicy) => void;
  readonly #mayFollow: () => void;
  #current: CompiledPolicy;
  #rejected: Error | null = null;
  /** The file was rejected as it may not be followed, whatever it says. */
  #isInDoubt = false;
  #seen: string;
  #timer: NodeJS.Timeout | null = null;
  /** One after the other: who began to read earlier must not come into force later. */
  #reloading: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | null = null;

  private constructor(
    file: string | null,
    machine: MachineFiles,
    judge: (policy: CompiledPolicy) => void,
    mayFollow: () => void,
    policy: CompiledPolicy,
    seen: string,
  ) {
    this.#file = file;
    this.#machine = machine;
    this.#judge = judge;
    this.#mayFollow = mayFollow;
    this.#current = policy;
    this.#seen = seen;
  }

  /**
   * Throws PolicyRejected. `file` null: the embedded default. `judge` throws at a policy that is valid and still must not
   * come into force, now or later; `mayFollow` when the file must not be followed any more, whatever it says: that is for its
   * changes, whoever opens it has decided for the file as it is.
   */
  static async open(
    file: string | null,
    machine: MachineFiles,
    judge: (policy: CompiledPolicy) => void = () => {},
    mayFollow: () => void = () => {},
  ): Promise<LivePolicy> {
    const seen = stampOf(file);
    const policy = await load(file, machine, judge);
    return new LivePolicy(file, machine, judge, mayFollow, policy, seen);
  }

  get current(): CompiledPolicy {
    return this.#current;
  }

  /** Why the file as it is now is not in force; null when it is. */
  get rejected(): Error | null {
    return this.#rejected;
  }

  /** Throws when the file must not be followed as it lies there now. */
  checkMayFollow(): void {
    this.#mayFollow();
  }

  onChange(listener: (policy: CompiledPolicy) => void): void {
    this.#listeners.add(listener);
  }

  /** Loads the file as it is now or later. Throws PolicyRejected; the old policy then stays in force. */
  reload(): Promise<void> {
    // Who asks while another waits for its turn shares it: that one has not looked at the file yet.
    this.#next ??= this.#reloading.then(() => {
      this.#next = null;
      return this.#reload();
    });
    this.#reloading = this.#next.catch(() => {});
    return this.#next;
  }

  async #reload(): Promise<void> {
    let policy: CompiledPolicy;
    try {
      policy = await this.#loadStill();
    } catch (error) {
      this.#rejected = asError(error);
      throw error;
    }
    this.#rejected = null;
    this.#current = policy;
    for (const listener of this.#listeners) listener(policy);
  }

  /** A file that is written while it is read is half of one and half of another: it is read again. */
  async #loadStill(): Promise<CompiledPolicy> {
    for (let attempt = 1; ; attempt++) {
      this.#seen = stampOf(this.#file);
      this.#refuseDoubt();
      const loaded = await load(this.#file, this.#machine, this.#judge).catch((error: unknown) => asError(error));
      const isStill = stampOf(this.#file) === this.#seen;
      if (!isStill && attempt < maxAttempts) continue;
      // Once more: it may have been replaced before it was read.
      this.#refuseDoubt();
      if (loaded instanceof Error) throw loaded;
      return loaded;
    }
  }

  #refuseDoubt(): void {
    this.#isInDoubt = true;
    this.#mayFollow();
    this.#isInDoubt = false;
  }

  #isOutOfDoubt(): boolean {
    if (!this.#isInDoubt) return false;
    try {
      this.#mayFollow();
      return true;
    } catch {
      return false;
    }
  }

  /** Reloads when the file changes, or may be followed again; `report` hears how it went. */
  watch(report: (error: Error | null) => void): void {
    if (this.#file === null || this.#timer !== null) return;
    this.#timer = setInterval(() => {
      const stamp = stampOf(this.#file);
      if (stamp === this.#seen && !this.#isOutOfDoubt()) return;
      // Half a file may be valid and say something else: it is read when nobody has written for a moment.
      setTimeout(() => {
        if (this.#timer === null || stampOf(this.#file) !== stamp) return;
        if (stamp === this.#seen && !this.#isInDoubt) return;
        this.reload().then(
          () => report(null),
          (error: Error) => report(error),
        );
      }, calmMs).unref();
    }, lookEveryMs);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function stampOf(file: string | null): string {
  if (file === null) return '';
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    // Not there, a link to itself, a directory that has been closed to us: to read it then says what is wrong.
    return `unreadable: ${(error as NodeJS.ErrnoException).code}`;
  }
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
