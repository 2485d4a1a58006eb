import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeLine } from '../../../../../src/stages/audit/journal/encode-line.ts';
import type { RecordBody } from '../../../../../src/stages/audit/journal/record.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const orNull = fc.option(anyText, { nil: null });
const record: fc.Arbitrary<RecordBody> = fc.record({
  time: fc.constant('2026-11-15T22:00:00.000Z'),
  id: fc.constant('a-1'),
  sandbox: orNull,
  door: anyText,
  from: fc.option(anyText),
  proof: fc.array(fc.constantFrom('ip', 'secret')),
  method: anyText,
  scheme: fc.constantFrom('https', 'http'),
  host: anyText,
  port: fc.nat(65535),
  destination: orNull,
  path: anyText,
  query: orNull,
  kind: fc.constantFrom('http', 'websocket', 'tunnel', 'connect'),
  git: orNull,
  protocol: fc.constantFrom('http/1.1', 'h2'),
  verdict: fc.constantFrom('allowed' as const, 'refused' as const),
  status: fc.nat(599),
  code: orNull,
  rule: orNull,
  reason: orNull,
  told: orNull,
  hint: orNull,
  credential: orNull,
  upstream: orNull,
  bytes_in: fc.nat(),
  bytes_out: fc.nat(),
  scrubbed: fc.nat(),
  incident: orNull,
  model: orNull,
  tokens_in: fc.nat(),
  tokens_out: fc.nat(),
  cost_usd: fc.nat().map((micro) => micro / 1_000_000),
  tokens_estimated: fc.boolean(),
  ms: fc.nat(),
  trail: fc.array(fc.tuple(fc.constant('accept'), fc.nat(), fc.constant('ok'))),
  cut: orNull,
  merged: fc.option(
    fc.record({ count: fc.nat(), first: anyText, last: anyText, samples: fc.array(anyText, { maxLength: 3 }) }),
  ),
});

describe('a record is one line of JSON', () => {
  test('whatever it holds, it reads back as itself, keys in order', () => {
    fc.assert(
      fc.property(record, (body) => {
        const line = encodeLine(7, 'f00', body);
        expect(line).not.toContain('\n');
        expect(line).toBe(JSON.stringify({ seq: 7, prev: 'f00', ...body }));
      }),
      { numRuns: 500 },
    );
  });

  test('what was the same in the record before is written as it is now', () => {
    const asJson = (body: RecordBody): string => JSON.stringify({ seq: 1, prev: '', ...body });
    fc.assert(
      fc.property(record, record, (one, other) => {
        for (const key of Object.keys(one) as (keyof RecordBody)[]) {
          for (const body of [one, { ...one, [key]: other[key] }, one]) {
            expect(encodeLine(1, '', body)).toBe(asJson(body));
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});
