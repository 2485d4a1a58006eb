import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { listJournalFiles } from '../../../../../src/stages/audit/journal/journal-files.ts';
import { type JournalEntry, readJournal } from '../../../../../src/stages/audit/journal/read-journal.ts';
import { verifyJournal } from '../../../../../src/stages/audit/journal/verify.ts';
import {
  collect,
  fileOf,
  fillJournal,
  journalDirectory,
  openJournal,
  sampleRecord,
  tamper,
} from './journal-fixture.ts';

const seqs = (entries: JournalEntry[]) => entries.map((entry) => entry.seq);

describe('the journal is read from its end', () => {
  test('the last so many, in the order in which they happened', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 30);
    expect(seqs(await collect(readJournal(directory, { limit: 4 })))).toEqual([27, 28, 29, 30]);
    expect(await collect(readJournal(directory, { limit: 0 }))).toEqual([]);
    expect(await collect(readJournal(directory))).toHaveLength(30);
  });

  test('across files, however the pieces that are read cut the lines', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 3000, { maxFileBytes: 400_000 });
    expect(listJournalFiles(directory).length).toBeGreaterThan(2);
    const all = seqs(await collect(readJournal(directory, { limit: 5000 })));
    expect(all).toEqual(Array.from({ length: 3000 }, (_, i) => i + 1));
  });

  test('only one sandbox, only what was refused', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 40);
    expect(seqs(await collect(readJournal(directory, { sandbox: 'sbx-odd', limit: 2 })))).toEqual([37, 39]);
    expect(seqs(await collect(readJournal(directory, { refusedOnly: true })))).toEqual([10, 20, 30, 40]);
    expect(await collect(readJournal(directory, { sandbox: 'sbx-odd', refusedOnly: true }))).toEqual([]);
    expect(await collect(readJournal(directory, { sandbox: null, limit: 3 }))).toHaveLength(3);
  });

  test('notes of the journal itself are shown unless one sandbox is asked for', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 3);
    appendFileSync(fileOf(directory), 'torn');
    openJournal(directory).close();
    expect((await collect(readJournal(directory))).at(-1)).toMatchObject({ note: 'recovered' });
    expect(seqs(await collect(readJournal(directory, { sandbox: 'sbx-odd' })))).toEqual([1, 3]);
  });

  test('what a person answered is kept in the chain, and shown with the sandbox it is about', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory);
    const note = { note: 'approval', text: 'denied', count: 1, request: 'r1', by: 'user 0', answer: 'deny' } as const;
    for (const sandbox of ['one', 'two']) journal.append({ time: '2026-11-16T16:00:00.000Z', ...note, sandbox });
    journal.close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, lastSeq: 2 });
    expect(await collect(readJournal(directory, { sandbox: 'one' }))).toMatchObject([{ seq: 1, ...note }]);
    expect(await collect(readJournal(directory, { refusedOnly: true }))).toEqual([]);
    expect(await collect(readJournal(directory))).toHaveLength(2);
  });

  test('a torn or spoilt line does not stop it; no journal is no records', async () => {
    const directory = journalDirectory();
    expect(await collect(readJournal(directory))).toEqual([]);
    fillJournal(directory, 5);
    tamper(directory, (lines) => lines.map((line, i) => (i === 2 ? 'spoilt' : line)));
    appendFileSync(fileOf(directory), '{"seq":6');
    expect(seqs(await collect(readJournal(directory)))).toEqual([1, 2, 4, 5]);
  });
});

describe('the journal can be followed', () => {
  test('what comes later is seen once and in order, also across a rotation', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory, { maxFileBytes: 5000 });
    for (let i = 1; i <= 5; i++) journal.append(sampleRecord(i));
    journal.flush();
    const stop = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const entry of readJournal(directory, { limit: 2, follow: true, signal: stop.signal, pollMs: 5 })) {
        seen.push(entry.seq);
        if (entry.seq === 60) stop.abort();
      }
    })();
    for (let i = 6; i <= 60; i++) {
      journal.append(sampleRecord(i));
      if (i % 7 === 0) await sleep(2);
    }
    await reading;
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => 61 - seen.length + i));
    expect(seen.at(-1)).toBe(60);
    expect(seen[0]).toBeGreaterThanOrEqual(4);
    expect(listJournalFiles(directory).length).toBeGreaterThan(3);
  });

  test('from before the first record, until the signal', async () => {
    const directory = journalDirectory();
    const stop = new AbortController();
    const reading = collect(
      readJournal(directory, { follow: true, signal: stop.signal, pollMs: 5 }),
      // However long a busy machine takes to get there.
      () => stop.abort(),
    );
    await sleep(20);
    const journal = openJournal(directory);
    journal.append(sampleRecord(1));
    expect(seqs(await reading)).toEqual([1]);
  });
});

describe('verification does not mind a gateway at work', () => {
  test('appending, rotating and removing old files meanwhile is no break', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory, { maxFileBytes: 50_000, keepFiles: 3 });
    let working = true;
    const work = (async () => {
      for (let i = 1; working; i++) {
        journal.append(sampleRecord(i));
        if (i % 20 === 0) await sleep(0);
      }
    })();
    for (let i = 0; i < 25 || journal.head.seq <= 500; i++) {
      expect(await verifyJournal(directory)).toMatchObject({ ok: true });
      await sleep(4);
    }
    working = false;
    await work;
  });
});
