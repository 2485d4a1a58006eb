import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  journalDirectories,
  journalsOf,
  partOf,
  workerJournal,
} from '../../../../../src/stages/audit/journal/journal-parts.ts';
import { readJournal } from '../../../../../src/stages/audit/journal/read-journal.ts';
import { mostBytes } from '../../../../../src/stages/audit/journal/retention.ts';
import { spentSince } from '../../../../../src/stages/audit/spent-before.ts';
import { journalDirectory, openJournal, sampleRecord } from './journal-fixture.ts';

const at = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`;

function gatewayWithTwo(): string {
  const directory = journalDirectory();
  for (const [folder, seconds] of [
    [directory, [3, 6]],
    [workerJournal(directory, 1), [1, 4, 7]],
    [workerJournal(directory, 10), [2, 5]],
  ] as const) {
    const journal = openJournal(folder);
    for (const second of seconds)
      journal.append({ ...sampleRecord(second), time: at(second), tokens_in: second, cost_usd: 1 });
    journal.close();
  }
  return directory;
}

test('a journal is its own and those of workers, in order of their numbers; what is called otherwise is none', () => {
  const directory = gatewayWithTwo();
  for (const name of ['worker-0', 'worker-x', 'worker-1.broken', 'worker-01']) mkdirSync(join(directory, name));
  expect(journalDirectories(directory)).toEqual([directory, workerJournal(directory, 1), workerJournal(directory, 10)]);
  expect(journalDirectories('/nowhere')).toEqual(['/nowhere']);
});

test('is read as one, in the order of time, and the last of all are the last', async () => {
  const directory = gatewayWithTwo();
  const read = async (limit: number) => {
    const times: string[] = [];
    for await (const { time } of readJournal(directory, { limit })) times.push(time);
    return times;
  };
  expect(await read(100)).toEqual([1, 2, 3, 4, 5, 6, 7].map(at));
  expect(await read(3)).toEqual([5, 6, 7].map(at));
  expect(await read(0)).toEqual([]);
});

test('is followed as one, and all of it is let go of together', async () => {
  const directory = gatewayWithTwo();
  const seen: string[] = [];
  for await (const { time } of readJournal(directory, { limit: 1, follow: true, pollMs: 5 })) {
    seen.push(time);
    if (seen.length === 3) break;
    const journal = openJournal(seen.length === 1 ? workerJournal(directory, 10) : directory);
    journal.append({ ...sampleRecord(9), time: at(7 + seen.length) });
    journal.close();
  }
  expect(seen).toEqual([7, 8, 9].map(at));
});

test('what was spent is in all of them', async () => {
  let tokens = 0;
  for await (const spent of spentSince(gatewayWithTwo(), Date.parse(at(3)))) tokens += spent.tokens;
  expect(tokens).toBe(3 + 4 + 5 + 6 + 7);
});

test('together they take what one may', () => {
  const limits = { maxFileBytes: 64 << 20, keepFiles: 20, keepMs: 1, maxBytes: 16 << 30 };
  for (const processes of [1, 2, 8]) {
    const count = journalsOf(processes);
    const part = partOf(limits, count);
    expect(count * mostBytes(part)).toBeLessThanOrEqual(mostBytes(limits));
    expect(count * part.maxFileBytes * part.keepFiles).toBeLessThanOrEqual(limits.maxFileBytes * limits.keepFiles);
  }
  expect(partOf({ maxFileBytes: 4096, keepFiles: 1 }, 9)).toEqual({ maxFileBytes: 4096, keepFiles: 1 });
});
