// Attack: cut off the end of the journal, at a line or in the middle of one, down to nothing.
import { statSync, truncateSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import {
  fileOf,
  fillJournal,
  journalDirectory,
  openJournal,
  tamper,
} from '../../unit/stages/audit/journal/journal-fixture.ts';

describe('a cut end is found', () => {
  test('whole records cut off: the head names a later one', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.slice(0, 17));
    expect(await verifyJournal(directory)).toMatchObject({
      ok: false,
      kind: 'truncated',
      line: 17,
      seq: 18,
      records: 17,
    });
    const journal = openJournal(directory);
    expect(journal.state).toMatchObject({ kind: 'broken' });
  });

  test('cut in the middle of the last line: not taken for a crash, since the head already named it', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    truncateSync(fileOf(directory), statSync(fileOf(directory)).size - 40);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'truncated', seq: 20 });
    expect(openJournal(directory).state.kind).toBe('broken');
  });

  test('an earlier file cut in the middle of a line is found', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 40, { maxFileBytes: 5000 });
    truncateSync(fileOf(directory, 2), statSync(fileOf(directory, 2)).size - 40);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', file: 'journal-000002.jsonl' });
  });

  test('everything cut off', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    truncateSync(fileOf(directory), 0);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'truncated', seq: 1, records: 0 });
    expect(openJournal(directory).healthy).toBe(false);
  });
});
