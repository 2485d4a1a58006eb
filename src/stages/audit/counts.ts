// What is counted, in plain numbers: the shape that metrics.ts fills and prometheus.ts prints.

/** What is not counted but looked at, when somebody asks. */
export interface Gauges {
  readonly openConnections: number;
  readonly openCircuits: number;
  readonly registeredSandboxes: number;
  readonly journal: {
    readonly healthy: boolean;
    readonly queued: number;
    readonly fileCount: number;
    readonly room: number;
    readonly head: { readonly seq: number };
  };
}

/** Seconds: from an answer out of a warm pool to a long model stream. */
export const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export interface Counts {
  readonly verdicts: ReadonlyMap<string, number>;
  readonly codes: ReadonlyMap<string, number>;
  readonly sandboxes: ReadonlyMap<string, number>;
  /** By kind: `placeholder`, `value`. */
  readonly incidents: ReadonlyMap<string, number>;
  /** Not cumulative; the last is everything above the last bound. */
  readonly durations: readonly number[];
  readonly durationSum: number;
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly scrubbed: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly dollars: number;
  /** By sandbox: only those that have asked a model. */
  readonly sandboxTokens: ReadonlyMap<string, number>;
  readonly sandboxDollars: ReadonlyMap<string, number>;
  readonly connectsOk: number;
  readonly connectsFailed: number;
  readonly unrecorded: number;
}
