// What happened to a flow, stage by stage: the decision trace is the audit record, and it survives failure.

export interface Step {
  readonly stage: string;
  readonly ms: number;
  /** `ok`, or the code of the refusal that ended it. */
  readonly outcome: string;
}

export class Trail {
  readonly steps: Step[] = [];
  readonly startedMs: number;
  /** What a stage must give back when the flow is over, however it ends (a place under a limit). */
  readonly atEnd: (() => void)[] = [];

  constructor(startedMs: number) {
    this.startedMs = startedMs;
  }

  add(stage: string, ms: number, outcome: string): void {
    this.steps.push({ stage, ms, outcome });
  }
}
