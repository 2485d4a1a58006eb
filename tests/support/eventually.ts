// Waits for something that happens soon, looking often: never a fixed sleep, never for ever.

export async function eventually<T>(
  look: () => T | Promise<T>,
  what: string | (() => string),
  timeoutMs = 40_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain: ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
