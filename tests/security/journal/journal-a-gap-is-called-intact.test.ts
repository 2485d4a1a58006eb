// Attack: evidence that is gone goes unmentioned. What retention let go is said by the chain itself, with how much and from
// when to when; whoever deletes more than that is seen, also when the head file, which is not chained, was made to agree.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  formatHead,
  headPath,
  listJournalFiles,
  readFirst,
  readHead,
} from '../../../src/stages/audit/journal/journal-files.ts';
import { type Intact, verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import {
  fileOf,
  fillJournal,
  journalDirectory,
  openJournal,
  sampleRecord,
} from '../../unit/stages/audit/journal/journal-fixture.ts';

const small = { maxFileBytes: 8000, keepFiles: 3 };

async function verified(directory: string): Promise<Intact> {
  const found = await verifyJournal(directory);
  if (!found.ok) throw new Error(found.message);
  return found;
}

/** Deletes the oldest file and has the head say that retention did. */
function deleteOldest(directory: string): void {
  const [oldest, next] = listJournalFiles(directory);
  rmSync(oldest!.path);
  const head = readHead(directory);
  if (head === null || head === 'unreadable') throw new Error('no head');
  writeFileSync(headPath(directory), formatHead({ ...head, oldest: readFirst(next!.path).seq! }));
}

describe('what retention let go', () => {
  test('is counted in files, records and bytes, from when to when', async () => {
    const directory = journalDirectory();
    const before = Date.now();
    fillJournal(directory, 100, small);
    const { letGo, firstSeq, lastSeq, records } = await verified(directory);
    expect(letGo).toMatchObject({
      records: firstSeq - 1,
      files: listJournalFiles(directory)[0]!.number - 1,
      chained: true,
    });
    expect(records + letGo!.records).toBe(lastSeq);
    expect(letGo!.bytes).toBeGreaterThan(letGo!.files * 6000);
    expect(letGo!.bytes).toBeLessThanOrEqual(letGo!.files * 8000);
    expect(Date.parse(letGo!.from!)).toBeLessThanOrEqual(Date.parse(letGo!.to!));
    expect(Date.parse(letGo!.to!)).toBeGreaterThanOrEqual(before - 1000);
  });

  test('is still the sum of all after a restart', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 100, small);
    const first = (await verified(directory)).letGo!;
    fillJournal(directory, 100, small);
    const second = (await verified(directory)).letGo!;
    expect(second.files).toBeGreaterThan(first.files);
    expect(second.bytes! - first.bytes!).toBeGreaterThan((second.files - first.files) * 6000);
    expect(second.from).toBe(first.from);
  });

  test('a journal from which nothing went is whole', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    expect(await verified(directory)).toMatchObject({ letGo: null, lost: 0, firstSeq: 1 });
  });
});

describe('what somebody else deleted', () => {
  test('is missing where the chain says what retention let go, whatever the head says', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 100, small);
    deleteOldest(directory);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'missing-file' });
  });

  test('before retention ever let anything go: it is not said that the chain vouches for it', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 60, { ...small, keepFiles: 20 });
    deleteOldest(directory);
    expect(await verified(directory)).toMatchObject({ letGo: { chained: false, bytes: null } });
  });

  test('an edited number of what went is an edit like any other', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 100, small);
    const last = listJournalFiles(directory).at(-1)!.number;
    const text = readFileSync(fileOf(directory, last), 'utf8');
    expect(text).toContain('"note":"let-go"');
    writeFileSync(fileOf(directory, last), text.replace(/"count":\d+/, '"count":9'));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false });
  });
});

test('a crash between the note and what it says leaves a file too many, and the next start lets it go', async () => {
  const directory = journalDirectory();
  const unlinkSync = (): void => {
    throw new Error('killed here');
  };
  fillJournal(directory, 60, { ...small, fs: { unlinkSync } });
  expect(await verified(directory)).toMatchObject({ firstSeq: 1, letGo: null });
  openJournal(directory, small).close();
  expect(await verified(directory)).toMatchObject({ letGo: { chained: true } });
  expect(listJournalFiles(directory).length).toBeLessThanOrEqual(4);
});

test('the journal of an older version, which wrote no such notes, is read, and says from then on what is known', async () => {
  const directory = journalDirectory();
  fillJournal(directory, 60, { ...small, keepFiles: 20 });
  deleteOldest(directory);
  const journal = openJournal(directory, small);
  journal.append(sampleRecord(61));
  journal.close();
  expect(await verified(directory)).toMatchObject({ letGo: { chained: true, from: null, bytes: null } });
});
