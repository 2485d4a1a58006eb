// Attack: play a record a second time, so that something seems to have happened twice.
import { describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { fillJournal, journalDirectory, tamper } from '../../unit/stages/audit/journal/journal-fixture.ts';

describe('a duplicated record is found', () => {
  test('right after itself', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.toSpliced(9, 0, lines[8]!));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'duplicated', line: 10, seq: 9 });
  });

  test('at the very end, after the record the head names', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => [...lines, lines[4]!]);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'duplicated', line: 21, seq: 5 });
  });
});
