// What each sandbox asked for in the last minute. Sums in six steps of ten seconds each; bounded in sandboxes, of which the
// one that was silent longest goes first. Callers that nobody knows have no line here.
import { NewestMap } from '../../kit/newest-map.ts';
import { type FedRecord, isRefused } from './fed-record.ts';
import type { SandboxView } from './shapes.ts';

type Load = SandboxView['load'];

interface Step {
  at: number;
  requests: number;
  refused: number;
  bytes: number;
}

const stepMs = 10_000;
const steps = 6;
const usualSandboxes = 2_000;

export class SandboxLoad {
  readonly #now: () => number;
  /** In order of their last request. */
  readonly #rings: NewestMap<string, Step[]>;

  constructor(now: () => number = Date.now, maxSandboxes = usualSandboxes) {
    this.#now = now;
    this.#rings = new NewestMap(maxSandboxes);
  }

  get size(): number {
    return this.#rings.size;
  }

  add(record: FedRecord): void {
    if (record.sandbox === null) return;
    const ring = this.#ringOf(record.sandbox);
    const at = this.#step();
    let step = ring[at % steps];
    if (step === undefined || step.at !== at) {
      step = { at, requests: 0, refused: 0, bytes: 0 };
      ring[at % steps] = step;
    }
    step.requests++;
    if (isRefused(record)) step.refused++;
    step.bytes += record.bytes_in + record.bytes_out;
  }

  of(sandbox: string): Load {
    const sum = { requests: 0, refused: 0, bytes: 0 };
    const oldest = this.#step() - steps + 1;
    for (const step of this.#rings.get(sandbox) ?? []) {
      if (step === undefined || step.at < oldest) continue;
      sum.requests += step.requests;
      sum.refused += step.refused;
      sum.bytes += step.bytes;
    }
    return sum;
  }

  #ringOf(sandbox: string): Step[] {
    const ring = this.#rings.get(sandbox) ?? new Array<Step>(steps);
    this.#rings.set(sandbox, ring);
    return ring;
  }

  #step(): number {
    return Math.floor(this.#now() / stepMs);
  }
}
