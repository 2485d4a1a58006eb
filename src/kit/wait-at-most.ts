// Waits for a promise, but no longer than a given time.

/** Resolves when `work` has settled, or after `ms`; its result or error is dropped. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(timer);
}
