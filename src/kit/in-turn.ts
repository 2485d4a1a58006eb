// Runs calls one after another, never at the same time: each starts when the one before has ended, with success or not.

export function inTurn(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}
