// Six minutes' worth of what ten agents do, compressed: bench/soak.mjs as it is run for an hour's worth, only shorter. How
// flat memory is shows in the long form; here a leak shows that takes a few mebibytes with every minute.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

interface SoakReport {
  readonly start: { readonly files: number; readonly threads: number };
  readonly end: { readonly files: number; readonly threads: number };
  readonly maxMiB: number;
  /** Of the last third over the middle one. */
  readonly growthMiB: number;
  readonly faults: readonly string[];
  readonly requests: number;
  readonly records: number;
  readonly gitRecords: number;
  readonly verified: boolean;
  readonly done: Readonly<Record<string, number>>;
}

let command: BuiltCommand;

beforeAll(() => {
  command = buildCommand({});
});

afterAll(() => command.remove());

test('mixed work leaves nothing open, nothing unrecorded, and no request fails that should pass', async () => {
  const script = fileURLToPath(new URL('../../bench/soak.mjs', import.meta.url));
  const main = join(command.home, 'package', 'dist', 'main.cjs');
  const run = await runClient(process.execPath, [script, '--minutes', '6', '--json'], {
    env: { SALLYPORT_MAIN: main },
    timeoutMs: 170_000,
  });
  // A request that did not go as it should ends it with words and no report.
  expect(run.stderr).toBe('');
  const report = JSON.parse(run.stdout) as SoakReport;
  expect(report.faults).toEqual([]);
  expect(run.code).toBe(0);
  expect(report.growthMiB).toBeLessThan(24);
  expect(report.end.files).toBeLessThanOrEqual(report.start.files);
  expect(report.end.threads).toBeLessThanOrEqual(report.start.threads);
  expect(report.records).toBe(report.requests);
  expect(report.gitRecords).toBeGreaterThanOrEqual(6);
  expect(report.verified).toBe(true);
  expect(report.maxMiB).toBeLessThan(400);
  expect(report.done).toMatchObject({ 'event streams': 70, WebSockets: 14, 'clones with a push': 3, reloads: 7 });
}, 180_000);
