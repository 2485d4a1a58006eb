import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { hashLine, headPath, listJournalFiles } from '../../../../../src/stages/audit/journal/journal-files.ts';
import { verifyJournal } from '../../../../../src/stages/audit/journal/verify.ts';
import { fileOf, fillJournal, journalDirectory, openJournal, quiet, sampleRecord } from './journal-fixture.ts';

describe('the journal chains what is appended', () => {
  test('each line holds its number and the hash of the line before', () => {
    const directory = journalDirectory();
    fillJournal(directory, 3);
    const lines = readFileSync(fileOf(directory), 'utf8').trimEnd().split('\n');
    const records = lines.map((line) => JSON.parse(line));
    expect(records.map((record) => record.seq)).toEqual([1, 2, 3]);
    expect(records.map((record) => record.prev)).toEqual(['0'.repeat(64), hashLine(lines[0]!), hashLine(lines[1]!)]);
    expect(records[2]).toMatchObject(sampleRecord(3));
  });

  test('lines of one turn are written together when the turn ends, without anyone asking', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory);
    journal.append(sampleRecord(1));
    journal.append(sampleRecord(2));
    expect(statSync(fileOf(directory)).size).toBe(0);
    expect(journal.queued).toBe(2);
    await nextTurn();
    expect(readFileSync(fileOf(directory), 'utf8').split('\n')).toHaveLength(3);
    expect(journal.queued).toBe(0);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 2, aheadOfHead: 0 });
  });

  test('one long turn does not pile up lines without bound', () => {
    const journal = openJournal(journalDirectory());
    let most = 0;
    for (let i = 0; i < 5000; i++) {
      journal.append(sampleRecord(i));
      most = Math.max(most, journal.queued);
    }
    expect(most).toBeLessThanOrEqual(512);
  });

  test('directory and files are for the owner alone', () => {
    const directory = journalDirectory();
    fillJournal(directory, 40, { maxFileBytes: 6000 });
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test('a second writer of the same journal is turned away, and let in when the first has closed', () => {
    const directory = journalDirectory();
    const first = openJournal(directory);
    expect(() => openJournal(directory)).toThrow(/another gateway is writing the journal.*SALLYPORT_HOME/);
    first.close();
    expect(openJournal(directory).healthy).toBe(true);
  });

  test('a closed journal takes nothing more', () => {
    const journal = openJournal(journalDirectory());
    journal.close();
    expect(journal.healthy).toBe(false);
    expect(() => journal.append(sampleRecord(1))).toThrow(/closed/);
  });
});

describe('the journal rotates', () => {
  test('by size, and the chain goes on across files', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 100, { maxFileBytes: 8000 });
    const files = listJournalFiles(directory);
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect(statSync(file.path).size).toBeLessThanOrEqual(8000);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 100, files: files.length, firstSeq: 1 });
  });

  test('keeps so many files, and what retention removed is no break', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 100, { maxFileBytes: 8000, keepFiles: 3 });
    expect(listJournalFiles(directory)).toHaveLength(3);
    expect(existsSync(fileOf(directory, 1))).toBe(false);
    const result = await verifyJournal(directory);
    expect(result).toMatchObject({ ok: true, files: 3 });
    // A note before each file that went.
    const lastSeq = result.ok ? result.lastSeq : 0;
    expect(lastSeq).toBeGreaterThan(100);
    expect(result.ok && result.firstSeq > 60).toBe(true);
    const again = openJournal(directory, { maxFileBytes: 8000, keepFiles: 3 });
    expect(again.head.seq).toBe(lastSeq);
    expect(again.append(sampleRecord(101))).toBeGreaterThan(lastSeq);
  });

  test('an old file that cannot be removed is reported and is no break', async () => {
    const directory = journalDirectory();
    const error = vi.fn();
    const unlinkSync = () => {
      throw new Error('EACCES');
    };
    fillJournal(directory, 60, { maxFileBytes: 8000, keepFiles: 2, fs: { unlinkSync }, log: { ...quiet, error } });
    expect(error).toHaveBeenCalledWith('old journal files could not be removed', expect.anything());
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, firstSeq: 1, letGo: null });
  });

  test('limits can change while it runs', () => {
    const directory = journalDirectory();
    const journal = openJournal(directory);
    for (let i = 1; i <= 10; i++) journal.append(sampleRecord(i));
    journal.flush();
    journal.configure({ maxFileBytes: 1000, keepFiles: 1 });
    journal.append(sampleRecord(11));
    journal.flush();
    expect(listJournalFiles(directory).map((file) => file.number)).toEqual([2]);
    expect(journal.fileCount).toBe(1);
  });
});

describe('the journal of a single file', () => {
  test('keeps the old one until the new one has a record: a full disk in between leaves a chain', async () => {
    const directory = journalDirectory();
    let isFull = false;
    const write = writeSync as (...given: unknown[]) => number;
    const fullDisk = (...given: unknown[]): number => {
      if (isFull && given[1] instanceof Uint8Array) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      return write(...given);
    };
    const options = { maxFileBytes: 1500, keepFiles: 1, fs: { writeSync: fullDisk as typeof writeSync } };
    const journal = openJournal(directory, options);
    for (let n = 1; n <= 2; n++) journal.append(sampleRecord(n));
    journal.flush();
    isFull = true;
    for (let n = 3; n <= 5; n++) journal.append(sampleRecord(n));
    journal.flush();
    expect(journal.state.kind).toBe('failing');
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, lastSeq: 2 });
    journal.close();
    isFull = false;
    const again = openJournal(directory, options);
    expect(again.state).toEqual({ kind: 'ok' });
    expect(again.append(sampleRecord(3))).toBe(3);
    again.flush();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, lastSeq: 3 });
    for (let n = 4; n <= 8; n++) again.append(sampleRecord(n));
    again.flush();
    expect(again.fileCount).toBe(1);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, lastSeq: again.head.seq, files: 1 });
  });
});

describe('the journal goes on after a restart', () => {
  test('with the next number and the hash of the last line', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 7);
    const journal = openJournal(directory);
    expect(journal.head.seq).toBe(7);
    expect(journal.append(sampleRecord(8))).toBe(8);
    journal.close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 8 });
  });

  test('with lines that a crash left after the head', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 7);
    const last = readFileSync(fileOf(directory), 'utf8').trimEnd().split('\n').at(-1)!;
    const extra = JSON.stringify({ seq: 8, prev: hashLine(last), ...sampleRecord(8) });
    appendFileSync(fileOf(directory), `${extra}\n`);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 8, aheadOfHead: 1 });
    expect(openJournal(directory).append(sampleRecord(9))).toBe(9);
  });

  test('a torn last line is cut off, and a record says how many bytes', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 7);
    appendFileSync(fileOf(directory), '{"seq":8,"prev":"0123');
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 7, tornBytes: 21 });
    openJournal(directory).close();
    const last = readFileSync(fileOf(directory), 'utf8').trimEnd().split('\n').at(-1)!;
    expect(JSON.parse(last)).toMatchObject({ seq: 8, note: 'recovered', count: 21 });
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 8, tornBytes: 0 });
  });

  test('a torn line longer than what is written next leaves nothing behind', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 7);
    appendFileSync(fileOf(directory), `{"seq":8,"prev":"${'0'.repeat(64)}","x":"${'y'.repeat(5000)}`);
    openJournal(directory).close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 8, tornBytes: 0 });
  });

  test('a new file that was still empty or torn when the crash came', async () => {
    for (const torn of ['', '{"seq":1']) {
      const directory = journalDirectory();
      fillJournal(directory, 7);
      appendFileSync(fileOf(directory, 2), torn, { mode: 0o600 });
      const journal = openJournal(directory);
      expect(journal.state).toEqual({ kind: 'ok' });
      journal.append(sampleRecord(8));
      journal.close();
      expect(await verifyJournal(directory)).toMatchObject({ ok: true, files: 2 });
    }
  });

  test('a head that was made and not yet written when the crash came is a beginning, and an alarm beside records', async () => {
    const directory = journalDirectory();
    mkdirSync(directory, { mode: 0o700 });
    writeFileSync(headPath(directory), '', { mode: 0o600 });
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 0 });
    fillJournal(directory, 2);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 2 });
    truncateSync(headPath(directory), 0);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'head' });
    expect(openJournal(directory).healthy).toBe(false);
  });

  test('finds its end in a file larger than what is read at first', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 12_000, { maxFileBytes: 64 << 20 });
    expect(statSync(fileOf(directory)).size).toBeGreaterThan(4 << 20);
    expect(openJournal(directory, { maxFileBytes: 64 << 20 }).append(sampleRecord(0))).toBe(12_001);
  });

  test('a broken end is a state that says what to do, and takes no record', () => {
    const directory = journalDirectory();
    fillJournal(directory, 7);
    truncateSync(fileOf(directory), 100);
    const before = readFileSync(fileOf(directory));
    const error = vi.fn();
    const journal = openJournal(directory, { log: { ...quiet, error } });
    expect(journal.healthy).toBe(false);
    const { state } = journal;
    expect('reason' in state && state.reason).toMatch(/sallyport audit verify.*mv .*journal .*journal\.broken/);
    expect(error).toHaveBeenCalledOnce();
    expect(() => journal.append(sampleRecord(8))).toThrow(/does not hold together/);
    journal.close();
    expect(readFileSync(fileOf(directory))).toEqual(before);
  });
});
