// Attack: write so much into the journal that rotation removes what others have left there a moment ago.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Journal } from '../../../src/stages/audit/journal/journal.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { journalDirectory, openJournal, sampleRecord } from '../../unit/stages/audit/journal/journal-fixture.ts';

const day = 86_400_000;
const victim = { ...sampleRecord(1), id: 'the-evidence', sandbox: 'quiet' };
const small = { maxFileBytes: 8000, keepFiles: 2, keepMs: 7 * day };

function textOf(directory: string): string {
  const files = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  return files.map((name) => readFileSync(join(directory, name), 'utf8')).join('');
}

function bytesOf(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

function flood(journal: Journal, count: number): number {
  let taken = 0;
  for (let i = 0; i < count; i++) {
    // As the path does: what cannot be recorded is not served.
    if (!journal.healthy) break;
    journal.append(sampleRecord(i));
    taken++;
    if (i % 5 === 0) journal.flush();
  }
  journal.flush();
  return taken;
}

test('a file stays for as long as it was said, however many come after it', async () => {
  const directory = journalDirectory();
  const journal = openJournal(directory, { ...small, maxBytes: 1 << 20 });
  journal.append(victim);
  expect(flood(journal, 500)).toBe(500);
  expect(journal.fileCount).toBeGreaterThan(10);
  expect(textOf(directory)).toContain('the-evidence');
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, firstSeq: 1, letGo: null });
});

test('when it is old enough it goes, and the files are as many as were asked for again', async () => {
  const directory = journalDirectory();
  let nowMs = Date.now();
  const journal = openJournal(directory, { ...small, maxBytes: 1 << 20, now: () => nowMs });
  journal.append(victim);
  flood(journal, 300);
  nowMs += 8 * day;
  const before = journal.fileCount;
  flood(journal, 30);
  // The one that was open holds what came now: it is as young as that.
  expect(journal.fileCount).toBeLessThan(before / 2);
  nowMs += 8 * day;
  flood(journal, 30);
  nowMs += 8 * day;
  flood(journal, 10);
  expect(journal.fileCount).toBeLessThanOrEqual(3);
  expect(textOf(directory)).not.toContain('the-evidence');
  const found = await verifyJournal(directory);
  expect(found).toMatchObject({ ok: true, letGo: { chained: true } });
});

test('where young files fill all that the journal may take, nothing is served and nothing goes', async () => {
  const directory = journalDirectory();
  let nowMs = Date.now();
  const journal = openJournal(directory, { ...small, maxBytes: 60_000, now: () => nowMs, retryMs: 10 });
  journal.append(victim);
  const taken = flood(journal, 5000);
  expect(taken).toBeLessThan(150);
  expect(journal.healthy).toBe(false);
  const { state } = journal;
  expect('reason' in state && state.reason).toMatch(/raise audit\.max_bytes, or lower audit\.keep_days/);
  expect(textOf(directory)).toContain('the-evidence');
  // What is refused meanwhile has its place, but not without end.
  let lost = 0;
  for (let i = 0; i < 500; i++) {
    try {
      journal.append(sampleRecord(i));
      journal.flush();
    } catch {
      lost++;
    }
  }
  expect(lost).toBeGreaterThan(400);
  expect(bytesOf(directory)).toBeLessThan(80_000);
  // Time alone makes room again, and what was lost is said.
  nowMs += 8 * day;
  await sleep(60);
  expect(journal.healthy).toBe(true);
  journal.append(sampleRecord(1));
  journal.flush();
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, lost });
});

test('a restart does not make files older than they are', async () => {
  const directory = journalDirectory();
  const first = openJournal(directory, { ...small, maxBytes: 1 << 20 });
  first.append(victim);
  flood(first, 200);
  first.close();
  const again = openJournal(directory, { ...small, maxBytes: 1 << 20 });
  flood(again, 200);
  expect(textOf(directory)).toContain('the-evidence');
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, letGo: null });
});
