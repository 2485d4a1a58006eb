// Counts for Prometheus. The path only adds to plain numbers; prom-client sees them when somebody asks. The number
// of series is bounded: verdicts and codes are ours, and sandboxes past the thousandth share one label.
import { readdirSync } from 'node:fs';
import { Counter, Gauge, Histogram, type MetricType, Registry } from 'prom-client';
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
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export class Metrics {
  readonly contentType: string;
  readonly #verdicts = new Map<string, number>();
  readonly #codes = new Map<string, number>();
  readonly #sandboxes = new Map<string, number>();
  readonly #maxSandboxes: number;
  /** Not cumulative; the last is everything above the last bound. */
  readonly #durations = new Array<number>(bounds.length + 1).fill(0);
  #durationSum = 0;
  #requests = 0;
  #bytesIn = 0;
  #bytesOut = 0;
  #connectsOk = 0;
  #connectsFailed = 0;
  #unrecorded = 0;
  readonly #registry = new Registry();

  constructor(ports: MetricsPorts) {
    this.#maxSandboxes = ports.maxSandboxes ?? 1000;
    this.contentType = this.#registry.contentType;
    this.#describeTraffic();
    this.#describeState(ports);
    this.#describeProcess();
  }

  /** One finished request. On the hot path. */
  count(record: RecordBody): void {
    this.#requests++;
    add(this.#verdicts, record.verdict);
    if (record.code !== null) add(this.#codes, record.code);
    if (record.sandbox !== null) {
      const known = this.#sandboxes.size < this.#maxSandboxes || this.#sandboxes.has(record.sandbox);
      add(this.#sandboxes, known ? record.sandbox : 'other');
    }
    this.#bytesIn += record.bytes_in;
    this.#bytesOut += record.bytes_out;
    const seconds = record.ms / 1000;
    this.#durationSum += seconds;
    let bucket = 0;
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++;
    this.#durations[bucket]!++;
  }

  /** One attempt to reach an upstream. */
  countConnect(succeeded: boolean): void {
    if (succeeded) this.#connectsOk++;
    else this.#connectsFailed++;
  }

  /** A request whose record the journal could not take. */
  countUnrecorded(): void {
    this.#unrecorded++;
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  #describeTraffic(): void {
    this.#labelled('requests_total', 'Requests by how they ended', 'verdict', this.#verdicts);
    this.#labelled('refusals_total', 'Requests that were refused or failed, by code', 'code', this.#codes);
    this.#labelled('sandbox_requests_total', 'Requests by sandbox', 'sandbox', this.#sandboxes);
    this.#counter('bytes_in_total', 'Bytes of request bodies taken from sandboxes', () => this.#bytesIn);
    this.#counter('bytes_out_total', 'Bytes of answers given to sandboxes', () => this.#bytesOut);
    this.#counter('unrecorded_total', 'Requests whose record could not be written', () => this.#unrecorded);
    const connects = new Map<string, number>();
    this.#labelled('upstream_connects_total', 'Connections opened to upstreams', 'result', connects, () => {
      connects.set('ok', this.#connectsOk);
      connects.set('failed', this.#connectsFailed);
    });
    const durations = new CountedHistogram(
      { name: 'sallyport_request_duration_seconds', help: 'From arrival to the end of the answer', registers: [] },
      () => ({ counts: this.#durations, sum: this.#durationSum, total: this.#requests }),
    );
    this.#registry.registerMetric(durations);
  }

  #describeState({ openConnections, registeredSandboxes, journal }: MetricsPorts): void {
    this.#gauge('sallyport_open_connections', 'Client connections that are open', openConnections);
    this.#gauge('sallyport_registered_sandboxes', 'Sandboxes that are registered', registeredSandboxes);
    this.#gauge('sallyport_journal_healthy', '1 while the journal can be written', () => (journal.healthy ? 1 : 0));
    this.#gauge('sallyport_journal_queued', 'Records waiting for the disk', () => journal.queued);
    this.#gauge('sallyport_journal_files', 'Journal files kept', () => journal.fileCount);
    this.#gauge('sallyport_journal_last_seq', 'Number of the last record', () => journal.head.seq);
  }

  /** The few that are read only when asked; prom-client's own set keeps event-loop and GC observers running. */
  #describeProcess(): void {
    const startedAt = Math.round(Date.now() / 1000 - process.uptime());
    this.#gauge('process_start_time_seconds', 'Start of the process, in seconds since the epoch', () => startedAt);
    this.#gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
    this.#gauge('process_open_fds', 'Open file descriptors', countDescriptors);
    this.#gauge('process_cpu_seconds_total', 'User and system CPU time', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    });
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  #counter(name: string, help: string, read: () => number): void {
    new Counter({
      name: `sallyport_${name}`,
      help,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  #labelled(name: string, help: string, label: string, counts: Map<string, number>, refresh?: () => void): void {
    new Counter({
      name: `sallyport_${name}`,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect() {
        refresh?.();
        this.reset();
        for (const [value, count] of counts) this.inc({ [label]: value }, count);
      },
    });
  }
}

interface Distribution {
  readonly counts: readonly number[];
  readonly sum: number;
  readonly total: number;
}

/** prom-client's histogram wants every value as it happens; this one is given the counts. */
class CountedHistogram extends Histogram<string> {
  readonly #config: { readonly name: string; readonly help: string };
  readonly #read: () => Distribution;

  constructor(config: { name: string; help: string; registers: [] }, read: () => Distribution) {
    super(config);
    this.#config = config;
    this.#read = read;
  }

  override get() {
    return this.getForPromString();
  }

  /** What prom-client calls when it prints. */
  async getForPromString(): ReturnType<Histogram<string>['get']> {
    const { name, help } = this.#config;
    const { counts, sum, total } = this.#read();
    let below = 0;
    const buckets = bounds.map((le, i) => {
      below += counts[i]!;
      return { metricName: `${name}_bucket`, labels: { le }, value: below };
    });
    const values = [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: '+Inf' }, value: total },
      { metricName: `${name}_sum`, labels: {}, value: sum },
      { metricName: `${name}_count`, labels: {}, value: total },
    ];
    return { name, help, type: 'histogram' as unknown as MetricType, aggregator: 'sum', collect: () => {}, values };
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function countDescriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
