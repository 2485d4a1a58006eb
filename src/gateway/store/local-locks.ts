// One at a time within this process: whoever comes next waits in line, for as long as it said. Never lets a second in
// while the first has not ended, however it ends.
import { type SharedLocks, StoreUnavailable } from '../../path/shared-store.ts';

interface Waiting {
  enter(): void;
}

export class LocalLocks implements SharedLocks {
  /** Present: somebody is in. */
  readonly #lines = new Map<string, Waiting[]>();

  async exclusively<T>(name: string, waitMs: number, act: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, []);
    else await standInLine(name, line, waitMs);
    try {
      return await act();
    } finally {
      this.#leave(name);
    }
  }

  #leave(name: string): void {
    const next = this.#lines.get(name)?.shift();
    if (next === undefined) this.#lines.delete(name);
    else next.enter();
  }
}

function standInLine(name: string, line: Waiting[], waitMs: number): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const waiting: Waiting = {
      enter() {
        clearTimeout(timer);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      line.splice(line.indexOf(waiting), 1);
      reject(new StoreUnavailable(`the lock ${name} was not free within ${waitMs} ms`));
    }, waitMs);
    timer.unref();
    line.push(waiting);
  });
}
