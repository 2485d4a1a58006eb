// What processes ask of the one that counts for all of them (Redis, or the first process of a gateway). Types only. A rejection
// means that it did not answer: then nothing was granted, though it may have counted something as taken.
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
   * How many places the process has from now on: `wanted` or what is free, never fewer than `held`, which are taken already.
   * Each call reports all of it, so that a repeated or lost call changes nothing.
   */
  places(key: string, limit: number, held: number, wanted: number): Promise<number>;
}

export interface TallySource {
  /**
   * `own`: all that this process ever counted under the key, not what was added since. `recalled`: what this gateway's journal
   * says was counted before this process began, whoever reported it then. Resolves to the sum over all processes.
   */
  report(key: string, own: number, keepMs: number, recalled: number): Promise<number>;
}

/** What a process knows of its source. */
export interface SourceState {
  /** The source does not answer: each process has its share. */
  away(): boolean;
  /** How many processes there are, this one among them, as last known. */
  peers(): number;
  /** Milliseconds that never run backwards. */
  now(): number;
}
