import { describe, expect, test } from 'vitest';
import { Metrics } from '../../../../src/stages/audit/metrics.ts';
import { sampleRecord } from './journal/journal-fixture.ts';

const gauges = {
  openConnections: 7,
  openCircuits: 2,
  registeredSandboxes: 3,
  journal: { healthy: true, queued: 2, fileCount: 4, room: 0.75, head: { seq: 99 } },
};

/** Values by series, e.g. `sallyport_requests_total{verdict="allowed"}`. */
async function read(metrics: Metrics): Promise<Map<string, number>> {
  const lines = (await metrics.render(gauges)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

describe('metrics are Prometheus text', () => {
  test('requests by verdict, refusals by code, bytes and sandboxes add up, and asking twice changes nothing', async () => {
    const metrics = new Metrics();
    for (let i = 1; i <= 20; i++) metrics.count({ ...sampleRecord(i), bytes_in: 10, scrubbed: 2 });
    await read(metrics);
    const values = await read(metrics);
    expect(values.get('sallyport_requests_total{verdict="allowed"}')).toBe(18);
    expect(values.get('sallyport_requests_total{verdict="refused"}')).toBe(2);
    expect(values.get('sallyport_refusals_total{code="path.not-allowed"}')).toBe(2);
    expect(values.get('sallyport_sandbox_requests_total{sandbox="sbx-even"}')).toBe(10);
    expect(values.get('sallyport_bytes_in_total')).toBe(200);
    expect(values.get('sallyport_bytes_out_total')).toBe(210);
    expect(values.get('sallyport_scrubbed_total')).toBe(40);
  });

  test('what models cost adds up, in all and by sandbox', async () => {
    const metrics = new Metrics();
    const asked = { tokens_in: 100, tokens_out: 10, cost_usd: 0.25 };
    for (const sandbox of ['sbx-1', 'sbx-1', 'sbx-2', null]) metrics.count({ ...sampleRecord(1), ...asked, sandbox });
    metrics.count({ ...sampleRecord(1), sandbox: 'sbx-3' });
    const values = await read(metrics);
    expect(values.get('sallyport_tokens_total{direction="in"}')).toBe(400);
    expect(values.get('sallyport_tokens_total{direction="out"}')).toBe(40);
    expect(values.get('sallyport_cost_dollars_total')).toBe(1);
    expect(values.get('sallyport_sandbox_tokens_total{sandbox="sbx-1"}')).toBe(220);
    expect(values.get('sallyport_sandbox_cost_dollars_total{sandbox="sbx-1"}')).toBe(0.5);
    expect(values.get('sallyport_sandbox_tokens_total{sandbox="sbx-2"}')).toBe(110);
    expect(values.has('sallyport_sandbox_tokens_total{sandbox="sbx-3"}')).toBe(false);
  });

  test('incidents are counted by what was found', async () => {
    const metrics = new Metrics();
    const found = ['placeholder of github in the body', 'value of github in the query', 'value of openai in the path'];
    for (const incident of [...found, null]) metrics.count({ ...sampleRecord(1), incident });
    const values = await read(metrics);
    expect(values.get('sallyport_incidents_total{kind="placeholder"}')).toBe(1);
    expect(values.get('sallyport_incidents_total{kind="value"}')).toBe(2);
  });

  test('durations are a cumulative histogram in seconds', async () => {
    const metrics = new Metrics();
    for (const ms of [0.5, 1, 3, 700, 400_000]) metrics.count({ ...sampleRecord(1), ms });
    const values = await read(metrics);
    const bucket = (le: string) => values.get(`sallyport_request_duration_seconds_bucket{le="${le}"}`);
    expect([bucket('0.001'), bucket('0.005'), bucket('0.5'), bucket('1'), bucket('300'), bucket('+Inf')]).toEqual([
      2, 3, 3, 4, 4, 5,
    ]);
    expect(values.get('sallyport_request_duration_seconds_count')).toBe(5);
    expect(values.get('sallyport_request_duration_seconds_sum')).toBeCloseTo(400.7045, 6);
    expect(await metrics.render(gauges)).toContain('# TYPE sallyport_request_duration_seconds histogram');
  });

  test('state comes from those who know it, when it is asked for', async () => {
    const metrics = new Metrics();
    metrics.countConnect(true);
    metrics.countConnect(false);
    metrics.countUnrecorded();
    const values = await read(metrics);
    expect(values.get('sallyport_open_connections')).toBe(7);
    expect(values.get('sallyport_upstream_circuits_open')).toBe(2);
    expect(values.get('sallyport_registered_sandboxes')).toBe(3);
    expect(values.get('sallyport_journal_healthy')).toBe(1);
    expect(values.get('sallyport_journal_queued')).toBe(2);
    expect(values.get('sallyport_journal_files')).toBe(4);
    expect(values.get('sallyport_journal_room')).toBe(0.75);
    expect(values.get('sallyport_journal_last_seq')).toBe(99);
    expect(values.get('sallyport_upstream_connects_total{result="ok"}')).toBe(1);
    expect(values.get('sallyport_upstream_connects_total{result="failed"}')).toBe(1);
    expect(values.get('sallyport_unrecorded_total')).toBe(1);
    expect(values.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(values.get('process_open_fds')).toBeGreaterThan(2);
    expect(values.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  test('sandboxes past the limit share one series', async () => {
    const metrics = new Metrics(3);
    for (let i = 0; i < 50; i++) metrics.count({ ...sampleRecord(1), sandbox: `sbx-${i % 10}` });
    const series = [...(await read(metrics))].filter(([name]) => name.startsWith('sallyport_sandbox_requests_total'));
    expect(series).toHaveLength(4);
    expect(series.find(([name]) => name.includes('other'))?.[1]).toBe(35);
  });
});
