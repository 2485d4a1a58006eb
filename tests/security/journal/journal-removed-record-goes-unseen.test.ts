// Attack: take a record out of the journal, and renumber what follows so that no number is missing.
import { describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { fillJournal, journalDirectory, tamper } from '../../unit/stages/audit/journal/journal-fixture.ts';

describe('a removed record is found', () => {
  test('the missing number and the place where it should be are named', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.filter((_, i) => i !== 11));
    expect(await verifyJournal(directory)).toMatchObject({
      ok: false,
      kind: 'removed',
      line: 12,
      seq: 12,
      records: 11,
    });
  });

  test('removing the first record is found', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.slice(1));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'missing-file', line: 1, seq: 1 });
  });

  test('renumbering the rest does not hide it', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) =>
      lines.filter((_, i) => i !== 11).map((line, i) => line.replace(/^\{"seq":\d+/, `{"seq":${i + 1}`)),
    );
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', line: 12, seq: 12, records: 11 });
  });

  test('a single wrong number is an edit of that record', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.map((line, i) => (i === 4 ? line.replace('{"seq":5,', '{"seq":99,') : line)));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', line: 5, seq: 5 });
  });
});
