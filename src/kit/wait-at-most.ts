// Waits for a promise, but no longer than a given time.

/** What `work` comes to, a failure too; after so long, what `late` says or throws. What comes later is not heard. */
export async function waitAtMost<T, Late>(work: Promise<T>, ms: number, late: () => Late): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<typeof tooLate>((resolve) => {
    timer = setTimeout(resolve, ms, tooLate);
  });
  try {
    const first = await Promise.race([work, isLate]);
    return first === tooLate ? late() : first;
  } finally {
    clearTimeout(timer);
  }
}

const tooLate = Symbol('too late');
