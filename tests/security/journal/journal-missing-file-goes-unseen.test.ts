// Attack: remove a whole file of the journal, the first, the last or one between, and call it retention.
import { renameSync, unlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { listJournalFiles } from '../../../src/stages/audit/journal/journal-files.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { fileOf, fillJournal, journalDirectory, openJournal } from '../../unit/stages/audit/journal/journal-fixture.ts';

function fourFiles(): string {
  const directory = journalDirectory();
  fillJournal(directory, 40, { maxFileBytes: 6000 });
  expect(listJournalFiles(directory).length).toBeGreaterThanOrEqual(4);
  return directory;
}

describe('a missing file is found', () => {
  test('the oldest, which retention did not remove', async () => {
    const directory = fourFiles();
    unlinkSync(fileOf(directory, 1));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'missing-file', seq: 1, records: 0 });
    expect(openJournal(directory).healthy).toBe(false);
  });

  test('one in the middle', async () => {
    const directory = fourFiles();
    unlinkSync(fileOf(directory, 2));
    const result = await verifyJournal(directory);
    expect(result).toMatchObject({ ok: false, kind: 'missing-file' });
    expect(openJournal(directory).healthy).toBe(false);
  });

  test('one in the middle, with the later ones renamed to close the gap', async () => {
    const directory = fourFiles();
    const count = listJournalFiles(directory).length;
    unlinkSync(fileOf(directory, 2));
    for (let n = 3; n <= count; n++) renameSync(fileOf(directory, n), fileOf(directory, n - 1));
    expect(await verifyJournal(directory)).toMatchObject({
      ok: false,
      kind: 'removed',
      file: 'journal-000002.jsonl',
      line: 1,
    });
  });

  test('the newest', async () => {
    const directory = fourFiles();
    unlinkSync(fileOf(directory, listJournalFiles(directory).length));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'truncated' });
    expect(openJournal(directory).healthy).toBe(false);
  });

  test('all of them', async () => {
    const directory = fourFiles();
    for (const file of listJournalFiles(directory)) unlinkSync(file.path);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'truncated', seq: 1 });
    expect(openJournal(directory).healthy).toBe(false);
  });
});
