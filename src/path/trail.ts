// What happened to a flow, stage by stage: the decision trace is the audit record, and it survives failure. Kept in the
// form in which it is written down, because every request makes one.

/** Stage, microseconds it took, and `ok` or the code of the refusal that ended it. */
export type Step = readonly [stage: string, microseconds: number, outcome: string];

export class Trail {
  readonly steps: Step[] = [];
  readonly startedMs: number;
  /** How to give back what a stage took for this flow (a place under a limit). */
  release: (() => void) | null = null;
  #markedMs: number;

  constructor(startedMs: number) {
    this.startedMs = startedMs;
    this.#markedMs = startedMs;
  }

  /** A stage is over: it began where the one before it ended. */
  mark(stage: string, outcome: string): void {
    const nowMs = performance.now();
    this.steps.push([stage, Math.round((nowMs - this.#markedMs) * 1000), outcome]);
    this.#markedMs = nowMs;
  }

  /** One more thing to give back when the flow is over. */
  alsoRelease(act: () => void): void {
    const before = this.release;
    this.release = () => {
      before?.();
      act();
    };
  }

  /** The flow is over, however it ended: what it held is given back, once. */
  end(): void {
    const { release } = this;
    this.release = null;
    release?.();
  }
}
