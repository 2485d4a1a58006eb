// Who has said that it knows of a change. A change is waited for until everybody has, or for so long; those who have not are
// named. Listens from before the change is made, so that no answer is too early.

const patienceMs = 1000;

export interface Waiting {
  /** Resolves with the names of those that did not answer in time. */
  allOf(instances: ReadonlyMap<string, string>): Promise<string[]>;
  stop(): void;
}

export class Acknowledgements {
  readonly #open = new Map<number, { readonly heard: Set<string>; check: () => void }>();

  listenFor(version: number): Waiting {
    const one = { heard: new Set<string>(), check: () => {} };
    this.#open.set(version, one);
    const stop = () => void this.#open.delete(version);
    return {
      stop,
      allOf: (instances) =>
        new Promise((resolve) => {
          const missing = () => [...instances].filter(([instance]) => !one.heard.has(instance)).map(([, name]) => name);
          const end = () => {
            clearTimeout(timer);
            stop();
            resolve(missing());
          };
          // After one more look at the sockets: when this process was held up, the answers may lie there.
          const timer = setTimeout(() => setImmediate(end), patienceMs).unref();
          one.check = () => {
            if (missing().length === 0) end();
          };
          one.check();
        }),
    };
  }

  heard(version: number, instance: string): void {
    const one = this.#open.get(version);
    if (one === undefined) return;
    one.heard.add(instance);
    one.check();
  }
}
