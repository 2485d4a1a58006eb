// What a worker has counted, on its way to the process that is asked for the counts: taken out there, added here. Sums only,
// so that nothing is counted twice and the order does not matter.
import { durationBounds } from './counts.ts';
import type { Metrics } from './metrics.ts';

const sums = [
  'durationSum',
  'requests',
  'bytesIn',
  'bytesOut',
  'scrubbed',
  'tokensIn',
  'tokensOut',
  'dollars',
] as const;
const maps = ['verdicts', 'codes', 'sandboxes', 'incidents', 'sandboxTokens', 'sandboxDollars'] as const;

export interface CarriedCounts {
  readonly sums: Readonly<Record<(typeof sums)[number], number>>;
  readonly maps: Readonly<Record<(typeof maps)[number], readonly (readonly [name: string, count: number])[]>>;
  readonly durations: readonly number[];
}

/** All that was counted since this was last called. */
export function takeCounts(metrics: Metrics): CarriedCounts {
  const taken = {
    sums: Object.fromEntries(sums.map((name) => [name, metrics[name]])) as CarriedCounts['sums'],
    maps: Object.fromEntries(maps.map((name) => [name, [...metrics[name]]])) as unknown as CarriedCounts['maps'],
    durations: [...metrics.durations],
  };
  for (const name of sums) metrics[name] = 0;
  for (const name of maps) metrics[name].clear();
  metrics.durations.fill(0);
  return taken;
}

const mostNames = 100_000;

/** Throws at anything that is none. */
export function readCounts(value: unknown): CarriedCounts {
  const { sums: carriedSums, maps: carriedMaps, durations } = fieldsOf(value);
  const [summed, mapped] = [fieldsOf(carriedSums), fieldsOf(carriedMaps)];
  const isRead =
    sums.every((name) => isAmount(summed[name])) &&
    maps.every((name) => isCounted(mapped[name])) &&
    Object.keys(summed).length === sums.length &&
    Object.keys(mapped).length === maps.length &&
    Array.isArray(durations) &&
    durations.length === durationBounds.length + 1 &&
    durations.every(isAmount);
  if (!isRead) throw new Error('counts are not what they should be');
  return value as CarriedCounts;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new Error('counts are no object');
  return value as Readonly<Record<string, unknown>>;
}

function isCounted(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > mostNames) return false;
  return value.every(
    (one) =>
      Array.isArray(one) && one.length === 2 && typeof one[0] === 'string' && one[0].length <= 512 && isAmount(one[1]),
  );
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
