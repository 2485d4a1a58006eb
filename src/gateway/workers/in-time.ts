// An answer of another process, or what is believed of one that does not answer: a process that is stopped keeps everybody
// waiting. What comes late is not heard.
import { waitAtMost } from '../../kit/wait-at-most.ts';

/** Rejects only when `answer` does, in time. */
export function inTime<T>(answer: Promise<T>, ms: number, otherwise: T): Promise<T> {
  return waitAtMost(answer, ms, () => otherwise);
}
