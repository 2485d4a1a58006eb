// Waits for something that nobody should wait for without end.

/** Resolves when `work` has settled, or after so long; what comes of it is not told. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(timer);
}
