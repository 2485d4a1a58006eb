// A finding of the doctor: what was checked, the result, and what to do about it. Every finding that is not ok has a fix.

export type FindingState = 'ok' | 'warn' | 'fail' | 'absent';

export interface DoctorFinding {
  /** The heading it stands under. */
  readonly area: string;
  readonly name: string;
  readonly state: FindingState;
  readonly says: string;
  /** What to do; null where nothing is to be done. */
  readonly fix: string | null;
}

/** Makes the findings of one area. */
export function findingsOf(area: string) {
  const make =
    (state: FindingState) =>
    (name: string, says: string, fix: string | null = null): DoctorFinding => ({ area, name, state, says, fix });
  const unwell = (state: FindingState) => {
    const made = make(state);
    return (name: string, says: string, fix: string): DoctorFinding => made(name, says, fix);
  };
  return { ok: make('ok'), absent: make('absent'), warn: unwell('warn'), fail: unwell('fail') };
}

/** Warnings do not fail, nor does what is absent. */
export function isWell(findings: readonly DoctorFinding[]): boolean {
  return findings.every(({ state }) => state !== 'fail');
}
