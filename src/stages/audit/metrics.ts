// Counts what happens, in plain numbers: this is the hot path. How they look to Prometheus is prometheus.ts, which is
// loaded when somebody asks. The number of series is bounded: verdicts and codes are ours, and sandboxes past the
// thousandth share one label.
import type { CarriedCounts } from './carried-counts.ts';
import { type Counts, durationBounds, type Gauges } from './counts.ts';
import type { RecordBody } from './journal/record.ts';

export class Metrics implements Counts {
  readonly verdicts = new Map<string, number>();
  readonly codes = new Map<string, number>();
  readonly sandboxes = new Map<string, number>();
  readonly incidents = new Map<string, number>();
  readonly sandboxTokens = new Map<string, number>();
  readonly sandboxDollars = new Map<string, number>();
  readonly durations = new Array<number>(durationBounds.length + 1).fill(0);
  durationSum = 0;
  requests = 0;
  bytesIn = 0;
  bytesOut = 0;
  scrubbed = 0;
  tokensIn = 0;
  tokensOut = 0;
  dollars = 0;
  connectsOk = 0;
  connectsFailed = 0;
  unrecorded = 0;
  readonly #maxSandboxes: number;

  constructor(maxSandboxes = 1000) {
    this.#maxSandboxes = maxSandboxes;
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
    if (record.tokens_in > 0 || record.tokens_out > 0) this.#countTokens(record);
    // Its first word is its kind.
    if (record.incident !== null) add(this.incidents, record.incident.split(' ', 1)[0]!);
    this.bytesIn += record.bytes_in;
    this.bytesOut += record.bytes_out;
    this.scrubbed += record.scrubbed;
    const seconds = record.ms / 1000;
    this.durationSum += seconds;
    let bucket = 0;
    while (bucket < durationBounds.length && seconds > durationBounds[bucket]!) bucket++;
    this.durations[bucket]!++;
  }

  #countTokens({ sandbox, tokens_in, tokens_out, cost_usd }: RecordBody): void {
    this.tokensIn += tokens_in;
    this.tokensOut += tokens_out;
    this.dollars += cost_usd;
    if (sandbox === null) return;
    const known = this.sandboxes.has(sandbox) ? sandbox : 'other';
    add(this.sandboxTokens, known, tokens_in + tokens_out);
    add(this.sandboxDollars, known, cost_usd);
  }

  /** What another process of this gateway has counted. */
  add({ sums, maps, durations }: CarriedCounts): void {
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) this[name] += sums[name];
    for (const [name, count] of maps.verdicts) add(this.verdicts, name, count);
    for (const [name, count] of maps.codes) add(this.codes, name, count);
    for (const [name, count] of maps.incidents) add(this.incidents, name, count);
    for (const [name, count] of maps.sandboxes) {
      const known = this.sandboxes.size < this.#maxSandboxes || this.sandboxes.has(name);
      add(this.sandboxes, known ? name : 'other', count);
    }
    const shown = (name: string): string => (this.sandboxes.has(name) ? name : 'other');
    for (const [name, count] of maps.sandboxTokens) add(this.sandboxTokens, shown(name), count);
    for (const [name, count] of maps.sandboxDollars) add(this.sandboxDollars, shown(name), count);
    for (const [index, count] of durations.entries()) this.durations[index]! += count;
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

  async render(gauges: Gauges): Promise<string> {
    // prom-client takes several megabytes that a gateway nobody scrapes need not spend.
    const { renderPrometheus } = await import('./prometheus.ts');
    return renderPrometheus(this, gauges);
  }
}

function add(counts: Map<string, number>, key: string, amount = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + amount);
}
