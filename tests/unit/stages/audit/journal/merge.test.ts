// The journals of several gateways as one: in order, whole, and still evidence.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mergeJournals, type NamedJournal, verifyEach } from '../../../../../src/stages/audit/journal/merge.ts';
import type { Intact } from '../../../../../src/stages/audit/journal/verify.ts';
import { verifyMerged } from '../../../../../src/stages/audit/journal/verify-merged.ts';
import { collect, fillJournal, journalDirectory, openJournal, sampleRecord, tamper } from './journal-fixture.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString();

function journalWith(seconds: readonly number[]): string {
  const directory = journalDirectory();
  const journal = openJournal(directory);
  for (const [i, second] of seconds.entries()) journal.append({ ...sampleRecord(i + 1), time: at(second) });
  journal.close();
  return directory;
}

async function merged(journals: readonly NamedJournal[]): Promise<string[]> {
  const verified = (await verifyEach(journals)) as (NamedJournal & { found: Intact })[];
  expect(verified.every(({ found }) => found.ok)).toBe(true);
  const lines: string[] = [];
  for await (const line of mergeJournals(verified)) lines.push(line);
  return lines;
}

function written(lines: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-merged-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, 'merged.jsonl');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

describe('several journals become one', () => {
  test('in order of time, with the order of each journal as it was, and every line says whose it is', async () => {
    // The third of `a` began before its second but ended after it: a journal is in order of endings.
    const lines = await merged([
      { name: 'a', directory: journalWith([1, 5, 3]) },
      { name: 'b', directory: journalWith([2, 4, 6]) },
    ]);
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records[0]).toEqual({ merged: ['a', 'b'] });
    expect(records.slice(1, 7).map(({ gateway, seq }) => `${gateway}${seq}`)).toEqual([
      ...['a1', 'b1', 'b2', 'a2', 'a3', 'b3'],
    ]);
    expect(records.slice(7)).toMatchObject([
      { gateway: 'a', first: 1, end: 3 },
      { gateway: 'b', first: 1, end: 3 },
    ]);
  });

  test('what it gives holds, also of journals in many files and of an empty one', async () => {
    const many = journalDirectory();
    fillJournal(many, 60, { maxFileBytes: 4096 });
    const path = written(
      await merged([
        { name: 'many', directory: many },
        { name: 'few', directory: journalWith([1]) },
        { name: 'none', directory: journalDirectory() },
      ]),
    );
    expect(await verifyMerged(path)).toEqual({
      ok: true,
      records: 61,
      gateways: [
        { name: 'many', records: 60, lastSeq: 60 },
        { name: 'few', records: 1, lastSeq: 1 },
        { name: 'none', records: 0, lastSeq: 0 },
      ],
    });
  });

  test('records that come while it reads are left out', async () => {
    const directory = journalWith([1, 2]);
    const verified = (await verifyEach([{ name: 'a', directory }])) as (NamedJournal & { found: Intact })[];
    const journal = openJournal(directory);
    journal.append(sampleRecord(3));
    journal.flush();
    const lines: string[] = [];
    for await (const line of mergeJournals(verified)) lines.push(line);
    expect(lines).toHaveLength(4);
    expect(await verifyMerged(written(lines))).toMatchObject({ ok: true, records: 2 });
  });

  test('a journal of which retention has taken the beginning is merged from where it begins', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 100, { maxFileBytes: 4096, keepFiles: 3 });
    const path = written(await merged([{ name: 'a', directory }]));
    const found = await verifyMerged(path);
    expect(found).toMatchObject({ ok: true });
    expect(JSON.parse(readFileSync(path, 'utf8').split('\n')[1]!).seq).toBeGreaterThan(1);
  });

  test('a gateway that rotates between the look and the merge, and while it is merged, loses nothing of what is merged', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory, { maxFileBytes: 4096, keepFiles: 3 });
    let n = 0;
    const append = (count: number): void => {
      for (let i = 0; i < count; i++) {
        journal.append(sampleRecord(++n));
        journal.flush();
      }
    };
    append(40);
    const verified = (await verifyEach([{ name: 'a', directory }])) as (NamedJournal & { found: Intact })[];
    append(40);
    const lastSeq = journal.head.seq;
    const lines: string[] = [];
    for await (const line of mergeJournals(verified)) {
      lines.push(line);
      append(7);
    }
    expect(lines.length).toBeGreaterThan(10);
    expect(await verifyMerged(written(lines))).toMatchObject({ ok: true, gateways: [{ lastSeq }] });
  });

  test('a journal that is changed after it was verified is not merged as if it had not been', async () => {
    const directory = journalWith([1, 2, 3]);
    const verified = (await verifyEach([{ name: 'a', directory }])) as (NamedJournal & { found: Intact })[];
    tamper(directory, (lines) => lines.with(2, lines[2]!.replace('"GET"', '"PUT"')));
    await expect(collect(mergeJournals(verified))).rejects.toThrow('the journal of a changed while it was read');
    tamper(directory, (lines) => lines.slice(0, 1));
    await expect(collect(mergeJournals(verified))).rejects.toThrow('record 2 is not where it was');
  });

  test.each([
    ['empty', ''],
    ['no journal at all', 'hello\n'],
    ['a journal that was not merged', '{"seq":1,"prev":"x"}\n'],
    ['a list of names that are none', '{"merged":[1]}\n'],
  ])('a file that is %s is broken, not an error', async (_what, text) => {
    const path = written([]);
    writeFileSync(path, text);
    expect(await verifyMerged(path)).toMatchObject({ ok: false });
  });
});
