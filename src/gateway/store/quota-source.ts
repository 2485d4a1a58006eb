// What the one place that counts for all (Redis, or the first process of a gateway) lends to those that decide in advance.
// Shapes only. Each rejection means that it did not answer: then nothing was promised, though something may have been taken.
import type { MeterRate, WaitMs } from '../../path/shared-store.ts';

export interface Drawn {
  /** 0, or at least what was asked for as the least. */
  readonly granted: number;
  /** How long until there is something again; 0: all that was wanted was granted. */
  readonly waitMs: WaitMs;
}

export interface QuotaSource {
  /** Up to `wanted`, but `least` or nothing. */
  draw(key: string, rate: MeterRate, least: number, wanted: number): Promise<Drawn>;
  /** What was drawn and not used. Nobody waits for it. */
  giveBack(key: string, rate: MeterRate, amount: number): void;
  /** Counts what is gone already. What is left then; less than nothing is a debt; null: there is none, more is not known. */
  spend(key: string, rate: MeterRate, amount: number): Promise<number | null>;
  /**
   * How many places the borrower has from now on: `wanted` or what is free, never fewer than `held`, which are taken already.
   * Says all of it each time, so that a repeated or lost call changes nothing.
   */
  places(key: string, limit: number, held: number, wanted: number): Promise<number>;
}

export interface TallySource {
  /**
   * `own`: all that this borrower ever counted under the key, not what was added since. `recalled`: what is known to have been
   * counted here before this borrower began, whoever told it then. The sum of all of them.
   */
  report(key: string, own: number, keepMs: number, recalled: number): Promise<number>;
}

/** What a borrower knows of the lender. */
export interface SourceState {
  /** It does not answer: each borrower has its share. */
  away(): boolean;
  /** How many borrowers there are, this one among them, as last known. */
  peers(): number;
  /** Milliseconds that never run backwards. */
  now(): number;
}
