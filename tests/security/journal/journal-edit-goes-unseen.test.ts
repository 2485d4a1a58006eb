// Attack: change one byte of a record after the fact, anywhere in the journal, the chain's own fields included.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import {
  fileOf,
  fillJournal,
  journalDirectory,
  openJournal,
  tamper,
} from '../../unit/stages/audit/journal/journal-fixture.ts';

describe('an edited record is found', () => {
  test('one byte in the middle names the file, the line and the record', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.map((line, i) => (i === 6 ? line.replace('/things/7', '/things/8') : line)));
    expect(await verifyJournal(directory)).toMatchObject({
      ok: false,
      kind: 'edited',
      file: 'journal-000001.jsonl',
      line: 7,
      seq: 7,
      records: 6,
    });
  });

  test('the very last record is covered by the head', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.map((line, i) => (i === 19 ? line.replace('refused', 'allowed') : line)));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', line: 20, seq: 20 });
  });

  test('a forged link to the record before is blamed on the record that holds it', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) =>
      lines.map((line, i) => (i === 9 ? line.replace(/"prev":"..../, '"prev":"0000') : line)),
    );
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', line: 10, seq: 10 });
  });

  test('the first record of all cannot be given a past', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 1);
    tamper(directory, (lines) => lines.map((line) => line.replace(/"prev":"0/, '"prev":"1')));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', line: 1 });
  });

  test('a record made unreadable is named by its place', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.map((line, i) => (i === 3 ? 'x'.repeat(line.length) : line)));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', line: 4, seq: 4, records: 3 });
  });

  test('every single byte of a small journal counts', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 2);
    const path = fileOf(directory);
    const honest = readFileSync(path);
    const unseen: number[] = [];
    for (let at = 0; at < honest.length; at++) {
      const forged = Buffer.from(honest);
      forged[at] = forged[at]! ^ 1;
      writeFileSync(path, forged);
      if ((await verifyJournal(directory)).ok) unseen.push(at);
    }
    expect(unseen).toEqual([]);
    writeFileSync(path, honest);
    expect((await verifyJournal(directory)).ok).toBe(true);
  });

  test('a gateway that starts on an edited end does not serve', () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.map((line, i) => (i === 17 ? line.replace('allowed', 'refused') : line)));
    const journal = openJournal(directory);
    expect(journal.healthy).toBe(false);
    expect(journal.state.kind).toBe('broken');
  });
});
