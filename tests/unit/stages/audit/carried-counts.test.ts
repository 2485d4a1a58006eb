import { expect, test } from 'vitest';
import { readCounts, takeCounts } from '../../../../src/stages/audit/carried-counts.ts';
import { Metrics } from '../../../../src/stages/audit/metrics.ts';
import { sampleRecord } from './journal/journal-fixture.ts';

const spent = { model: 'm', tokens_in: 3, tokens_out: 4, cost_usd: 0.5, incident: 'value of key' };

test('what is carried from one process to another is counted once, and comes to the same', () => {
  const [direct, there, here] = [new Metrics(), new Metrics(), new Metrics()];
  const carry = (): void => here.add(readCounts(JSON.parse(JSON.stringify(takeCounts(there)))));
  for (let i = 1; i <= 30; i++) {
    const record = { ...sampleRecord(i), ...(i % 3 === 0 ? spent : {}), ms: i * 40 };
    for (const metrics of [direct, there]) metrics.count(record);
    if (i % 7 === 0) carry();
  }
  carry();
  carry();
  expect(JSON.parse(JSON.stringify(takeCounts(here)))).toEqual(JSON.parse(JSON.stringify(takeCounts(direct))));
});

test('sandboxes past the bound share one label', () => {
  const [there, here] = [new Metrics(100), new Metrics(1)];
  for (const sandbox of ['a', 'b', 'c']) there.count({ ...sampleRecord(1), ...spent, sandbox });
  here.add(takeCounts(there));
  expect([...here.sandboxes]).toEqual([
    ['a', 1],
    ['other', 2],
  ]);
  expect([...here.sandboxTokens]).toEqual([
    ['a', 7],
    ['other', 14],
  ]);
});

test.each([
  ['nothing', null],
  ['no sums', { maps: {}, durations: [] }],
  ['less than nothing', { ...takeCounts(new Metrics()), durations: new Array<number>(17).fill(-1) }],
  [
    'a sum that nobody knows',
    { ...takeCounts(new Metrics()), sums: { ...takeCounts(new Metrics()).sums, constructor: 1 } },
  ],
  [
    'names that are none',
    { ...takeCounts(new Metrics()), maps: { ...takeCounts(new Metrics()).maps, codes: [[1, 1]] } },
  ],
])('what are no counts is not added: %s', (_what, value) => {
  expect(() => readCounts(value)).toThrow();
});
