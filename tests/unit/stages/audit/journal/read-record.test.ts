import { describe, expect, test } from 'vitest';
import { readRecord } from '../../../../../src/stages/audit/journal/read-record.ts';
import { describeFlow } from '../../../../../src/stages/audit/journal/record.ts';
import { acceptedFlow, callerFrom, canonicalOf } from '../../../../support/hand-made-flow.ts';

function made(): Record<string, unknown> {
  const flow = acceptedFlow(callerFrom(), canonicalOf('GET', 'https://api.example.com/a?b=c'));
  const record = describeFlow(flow, { verdict: 'allowed', status: 200, refusal: null, error: null });
  return { ...(JSON.parse(JSON.stringify(record)) as object), bytes_in: 1, bytes_out: 2 };
}

describe('a record that another process of the gateway has made', () => {
  test('is taken as it was described', () => {
    const record = made();
    expect(readRecord(record)).toBe(record);
  });

  test.each([
    ['no object', null],
    ['a field is missing', { ...made(), status: undefined }],
    ['a field more', { ...made(), note: 'recovered' }],
    ['a word that would end its quotes', { ...made(), scheme: 'https","sandbox":"another' }],
    ['a trail with a word of that kind', { ...made(), trail: [['accept","x":"', 1, 'ok']] }],
    ['a number that is none', { ...made(), bytes_in: '1,"seq":9' }],
    ['a text without end', { ...made(), path: 'x'.repeat(9000) }],
  ])('is not taken when it is none: %s', (_what, record) => {
    expect(() => readRecord(record)).toThrow();
  });
});
