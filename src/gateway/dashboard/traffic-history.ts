// How much passed over the last hour, in steps of ten seconds: sums alone, in a ring of fixed size. Time is the gateway's.
import { type FedRecord, isRefused } from './fed-record.ts';
import type { TrafficPoint, TrafficView } from './shapes.ts';

const stepMs = 10_000;
const steps = 360;

type Sums = { -readonly [Key in keyof TrafficPoint]: number };

export class TrafficHistory {
  readonly #now: () => number;
  readonly #ring: (Sums | undefined)[] = new Array<Sums | undefined>(steps);

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  add(record: FedRecord): void {
    const sums = this.#sumsOf(this.#step());
    sums.requests++;
    if (isRefused(record)) sums.refused++;
    sums.bytesIn += record.bytes_in;
    sums.bytesOut += record.bytes_out;
    sums.tokens += record.tokens_in + record.tokens_out;
    sums.dollars += record.cost_usd;
  }

  /** Every step of the hour, also those in which nothing passed. */
  view(): TrafficView {
    const last = this.#step();
    const points: TrafficPoint[] = [];
    for (let step = last - steps + 1; step <= last; step++) {
      const kept = this.#ring[step % steps];
      points.push(kept?.atMs === step * stepMs ? { ...kept } : nothingAt(step));
    }
    return { stepSeconds: stepMs / 1000, points };
  }

  #step(): number {
    return Math.floor(this.#now() / stepMs);
  }

  #sumsOf(step: number): Sums {
    const kept = this.#ring[step % steps];
    if (kept !== undefined && kept.atMs === step * stepMs) return kept;
    const fresh = nothingAt(step);
    this.#ring[step % steps] = fresh;
    return fresh;
  }
}

function nothingAt(step: number): Sums {
  return { atMs: step * stepMs, requests: 0, refused: 0, bytesIn: 0, bytesOut: 0, tokens: 0, dollars: 0 };
}
