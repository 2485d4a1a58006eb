// Counts what happens, in plain numbers: this is the hot path. How they look to Prometheus is prometheus.ts, which is
// loaded when somebody asks. The number of series is bounded: verdicts and codes are ours, and sandboxes past the
// thousandth share one label.
import type { RecordBody } from './record.ts';

export interface MetricsPorts {
  readonly openConnections: () => number;
  readonly registeredSandboxes: () => number;
  readonly journal: {
    readonly healthy: boolean;
    readonly queued: number;
    readonly fileCount: number;
    readonly head: { readonly seq: number };
  };
  readonly maxSandboxes?: number;
}

/** Seconds: from an answer out of a warm pool to a long model stream. */
export const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export interface Counts {
  readonly verdicts: ReadonlyMap<string, number>;
  readonly codes: ReadonlyMap<string, number>;
  readonly sandboxes: ReadonlyMap<string, number>;
  /** Not cumulative; the last is everything above the last bound. */
  readonly durations: readonly number[];
  readonly durationSum: number;
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly connectsOk: number;
  readonly connectsFailed: number;
  readonly unrecorded: number;
}

export class Metrics implements Counts {
  readonly verdicts = new Map<string, number>();
  readonly codes = new Map<string, number>();
  readonly sandboxes = new Map<string, number>();
  readonly durations = new Array<number>(durationBounds.length + 1).fill(0);
  durationSum = 0;
  requests = 0;
  bytesIn = 0;
  bytesOut = 0;
  connectsOk = 0;
  connectsFailed = 0;
  unrecorded = 0;
  readonly #ports: MetricsPorts;
  readonly #maxSandboxes: number;

  constructor(ports: MetricsPorts) {
    this.#ports = ports;
    this.#maxSandboxes = ports.maxSandboxes ?? 1000;
  }

  /** One finished request. On the hot path. */
  count(record: RecordBody): void {
    this.requests++;
    add(this.verdicts, record.verdict);
    if (record.code !== null) add(this.codes, record.code);
    if (record.sandbox !== null) {
      const known = this.sandboxes.size < this.#maxSandboxes || this.sandboxes.has(record.sandbox);
      add(this.sandboxes, known ? record.sandbox : 'other');
    }
    this.bytesIn += record.bytes_in;
    this.bytesOut += record.bytes_out;
    const seconds = record.ms / 1000;
    this.durationSum += seconds;
    let bucket = 0;
    while (bucket < durationBounds.length && seconds > durationBounds[bucket]!) bucket++;
    this.durations[bucket]!++;
  }

  /** One attempt to reach an upstream. */
  countConnect(succeeded: boolean): void {
    if (succeeded) this.connectsOk++;
    else this.connectsFailed++;
  }

  /** A request whose record the journal could not take. */
  countUnrecorded(): void {
    this.unrecorded++;
  }

  async render(): Promise<string> {
    // prom-client takes several megabytes that a gateway nobody scrapes need not spend.
    const { renderPrometheus } = await import('./prometheus.ts');
    return renderPrometheus(this, this.#ports);
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
