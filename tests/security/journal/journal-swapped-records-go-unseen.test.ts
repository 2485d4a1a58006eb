// Attack: keep every record but change their order, so that an effect seems to come before its cause.
import { describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { fillJournal, journalDirectory, tamper } from '../../unit/stages/audit/journal/journal-fixture.ts';

function swap(lines: string[], a: number, b: number): string[] {
  const out = [...lines];
  [out[a], out[b]] = [out[b]!, out[a]!];
  return out;
}

describe('swapped records are found', () => {
  test('two neighbours', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => swap(lines, 7, 8));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'swapped', line: 8, seq: 8 });
  });

  test('two that lie apart', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => swap(lines, 2, 15));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'swapped', line: 3, seq: 3, records: 2 });
  });
});
