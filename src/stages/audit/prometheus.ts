// The counts in the words of Prometheus. A registry per scrape: nothing is kept between two, so nothing can be stale.
import { readdirSync } from 'node:fs';
import { Counter, Gauge, Histogram, type MetricType, Registry } from 'prom-client';
import { type Counts, durationBounds, type Gauges } from './counts.ts';

export function renderPrometheus(counts: Counts, gauges: Gauges): Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  const labelled = (name: string, help: string, label: string, values: Iterable<readonly [string, number]>): void => {
    const counter = new Counter({ name: `sallyport_${name}`, help, labelNames: [label], registers });
    for (const [value, count] of values) counter.inc({ [label]: value }, count);
  };
  const counter = (name: string, help: string, value: number): void =>
    new Counter({ name: `sallyport_${name}`, help, registers }).inc(value);
  const gauge = (name: string, help: string, value: number): void => new Gauge({ name, help, registers }).set(value);

  labelled('requests_total', 'Requests by how they ended', 'verdict', counts.verdicts);
  labelled('refusals_total', 'Requests that were refused or failed, by code', 'code', counts.codes);
  labelled('sandbox_requests_total', 'Requests by sandbox', 'sandbox', counts.sandboxes);
  labelled(
    'incidents_total',
    'Requests with something of a credential where it does not belong, by what it was',
    'kind',
    counts.incidents,
  );
  counter('bytes_in_total', 'Bytes of request bodies taken from sandboxes', counts.bytesIn);
  counter('bytes_out_total', 'Bytes of answers given to sandboxes', counts.bytesOut);
  counter('scrubbed_total', 'Credentials that came back in an answer and were replaced', counts.scrubbed);
  labelled(
    'tokens_total',
    'Tokens that models took and gave, with estimates where a provider did not say',
    'direction',
    [
      ['in', counts.tokensIn],
      ['out', counts.tokensOut],
    ],
  );
  counter('cost_dollars_total', 'What models cost by the list of prices, in US dollars', counts.dollars);
  labelled('sandbox_tokens_total', 'Tokens of models by sandbox', 'sandbox', counts.sandboxTokens);
  labelled(
    'sandbox_cost_dollars_total',
    'What models cost by sandbox, in US dollars',
    'sandbox',
    counts.sandboxDollars,
  );
  counter('unrecorded_total', 'Requests whose record could not be written', counts.unrecorded);
  labelled('upstream_connects_total', 'Connections opened to upstreams', 'result', [
    ['ok', counts.connectsOk],
    ['failed', counts.connectsFailed],
  ]);
  registry.registerMetric(new CountedHistogram(counts));

  const { openConnections, openCircuits, registeredSandboxes, journal } = gauges;
  gauge('sallyport_open_connections', 'Client connections that are open', openConnections);
  gauge('sallyport_upstream_circuits_open', 'Upstreams that are left alone for a moment', openCircuits);
  gauge('sallyport_registered_sandboxes', 'Sandboxes that are registered', registeredSandboxes);
  gauge('sallyport_journal_healthy', '1 while the journal can be written', journal.healthy ? 1 : 0);
  gauge('sallyport_journal_queued', 'Records waiting for the disk', journal.queued);
  gauge('sallyport_journal_files', 'Journal files kept', journal.fileCount);
  gauge(
    'sallyport_journal_room',
    'Part of the journal that no young records hold; at 0 nothing is served',
    journal.room,
  );
  gauge('sallyport_journal_last_seq', 'Number of the last record', journal.head.seq);

  // The few that are read only when asked; prom-client's own set keeps event-loop and GC observers running.
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  const { user, system } = process.cpuUsage();
  gauge('process_start_time_seconds', 'Start of the process, in seconds since the epoch', startedAt);
  gauge('process_resident_memory_bytes', 'Resident memory', process.memoryUsage.rss());
  gauge('process_open_fds', 'Open file descriptors', countDescriptors());
  gauge('process_cpu_seconds_total', 'User and system CPU time', (user + system) / 1e6);
  return registry.metrics();
}

const durationName = 'sallyport_request_duration_seconds';
const durationHelp = 'From arrival to the end of the answer';

/** prom-client's histogram wants every value as it happens; this one is given the counts. */
class CountedHistogram extends Histogram<string> {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    super({ name: durationName, help: durationHelp, registers: [] });
    this.#counts = counts;
  }

  override get() {
    return this.getForPromString();
  }

  /** What prom-client calls when it prints. */
  async getForPromString(): ReturnType<Histogram<string>['get']> {
    const { durations, durationSum, requests } = this.#counts;
    let below = 0;
    const buckets = durationBounds.map((le, i) => {
      below += durations[i]!;
      return { metricName: `${durationName}_bucket`, labels: { le }, value: below };
    });
    const values = [
      ...buckets,
      { metricName: `${durationName}_bucket`, labels: { le: '+Inf' }, value: requests },
      { metricName: `${durationName}_sum`, labels: {}, value: durationSum },
      { metricName: `${durationName}_count`, labels: {}, value: requests },
    ];
    const type = 'histogram' as unknown as MetricType;
    return { name: durationName, help: durationHelp, type, aggregator: 'sum', collect: () => {}, values };
  }
}

function countDescriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
