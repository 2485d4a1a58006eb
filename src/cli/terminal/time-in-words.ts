// Spans of time as a person says them: one unit, rounded down, short enough for a column. For the screen alone; data keeps
// its exact times.

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'days'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** `43 min`, `3 h`, `2 days`. */
export function spanInWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  // Up to two of a unit the smaller one says more: 90 min, 36 h.
  const [size, name] = units.find(([unit]) => seconds >= 2 * unit) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${name}`;
}

/** How long something has been so; null and what is no time: a dash. */
export function sinceInWords(time: unknown, nowMs: number): string {
  const ms = timeOf(time);
  return ms === null ? '-' : spanInWords(nowMs - ms);
}

export function agoInWords(time: unknown, nowMs: number): string {
  const ms = timeOf(time);
  return ms === null ? 'never' : `${spanInWords(nowMs - ms)} ago`;
}

export function untilInWords(time: unknown, nowMs: number): string {
  const ms = timeOf(time);
  if (ms === null) return '-';
  return ms <= nowMs ? 'expired' : `in ${spanInWords(ms - nowMs)}`;
}

function timeOf(time: unknown): number | null {
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
