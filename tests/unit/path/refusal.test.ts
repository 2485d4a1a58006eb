import { describe, expect, test } from 'vitest';
import { Refusal, type RefusalCode, refusalStatus } from '../../../src/path/refusal.ts';

const codes = Object.keys(refusalStatus) as RefusalCode[];

describe('a refusal', () => {
  test.each(codes)('%s says its rule and a next step even when nothing particular was said', (code) => {
    const refusal = new Refusal(code, 'no');
    expect(refusal.rule).not.toBe('');
    expect(refusal.hint.length).toBeGreaterThan(20);
    expect(refusal.status).toBe(refusalStatus[code]);
  });

  test('prefers what was said to it', () => {
    const refusal = new Refusal('domain.not-allowed', 'no', { rule: 'allow[0]', hint: 'Add the host.' });
    expect([refusal.rule, refusal.hint]).toEqual(['allow[0]', 'Add the host.']);
  });
});
