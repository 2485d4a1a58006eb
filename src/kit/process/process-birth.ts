// Tells a process from a later one with the same id: ids are used again, start times are not.
import { readFileSync } from 'node:fs';

/** When the process began, in clock ticks since the start of the machine; null: there is none, or it has ended. */
export function processBirth(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in the second field may hold spaces and brackets of its own.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
