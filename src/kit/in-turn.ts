// Work that must not run beside itself: every call has its own turn, after the one before has ended, well or badly.

export function inTurn(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}
