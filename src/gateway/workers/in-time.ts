// An answer of another process, or what is believed of one that does not answer: a process that is stopped keeps everybody
// waiting. What comes late is not heard.

/** Rejects only when `answer` does, in time. */
export async function inTime<T>(answer: Promise<T>, ms: number, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
