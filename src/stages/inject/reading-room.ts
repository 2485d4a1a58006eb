// The memory that request bodies take which are read whole before they go out, by sandbox: many that never end must not fill it.
import type { Refusal } from '../../path/refusal.ts';

/** What the bodies of one sandbox may take at a time. */
export const maxReadingBytes = 256 * 1024 * 1024;
const readingBytes = new Map<string, number>();

/** Does `work` while `bytes` are taken; `refusal`: what is thrown where there is no room for them. */
export async function inReadingRoom<Result>(
  sandboxId: string,
  bytes: number,
  refusal: () => Refusal,
  work: () => Promise<Result>,
): Promise<Result> {
  const change = (by: number): number => {
    const taken = (readingBytes.get(sandboxId) ?? 0) + by;
    if (taken === 0) readingBytes.delete(sandboxId);
    else readingBytes.set(sandboxId, taken);
    return taken;
  };
  try {
    if (change(bytes) > maxReadingBytes) throw refusal();
    return await work();
  } finally {
    change(-bytes);
  }
}
