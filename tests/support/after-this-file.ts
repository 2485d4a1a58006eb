// What a test file made is taken away when it ends. Files share the modules of their worker, so a hook that a support
// module registers while it is loaded would run after the first file alone: it leaves its duty here instead.
type Act = () => unknown;

const acts: Act[] = [];

/** `act` runs after every hook of the test file that is running. */
export function afterThisFile(act: Act): void {
  acts.push(act);
}

/** Last made, first taken away; all of them, whatever becomes of one. */
export async function endThisFile(): Promise<void> {
  const faults: unknown[] = [];
  for (const act of acts.splice(0).reverse()) {
    try {
      await act();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw new AggregateError(faults, 'not everything that the file made could be taken away');
}
