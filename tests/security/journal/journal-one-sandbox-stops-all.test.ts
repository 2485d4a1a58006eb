// Attack: fill all that the journal may take with records that are too young to go, so that nothing is served to anybody. One
// sandbox writes as much as it may at every moment, for three weeks of the test's own clock.
import { expect, test } from 'vitest';
import { CalmJournal } from '../../../src/stages/audit/journal/calm-journal.ts';
import { JournalShares } from '../../../src/stages/audit/journal/journal-shares.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { journalDirectory, openJournal, sampleRecord } from '../../unit/stages/audit/journal/journal-fixture.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const kib = 1024;
const most = 2048 * kib;

interface Weeks {
  readonly served: number;
  /** Of the quiet one, in three weeks; it asks four times a day. */
  readonly quiet: number;
  readonly leastRoom: number;
}

async function threeWeeks(bytesPerDay: number): Promise<Weeks> {
  const state = { nowMs: Date.now() };
  const now = (): number => state.nowMs;
  const directory = journalDirectory();
  const limits = { maxFileBytes: 32 * kib, keepFiles: 4, keepMs: 7 * day, maxBytes: most };
  const journal = openJournal(directory, { ...limits, now, retryMs: 1_000_000 });
  const shares = new JournalShares({ bytesPerDay: () => bytesPerDay, room: () => journal.room, now });
  const calm = new CalmJournal({ journal, shares, now, later: () => ({ unref() {} }), onFailure() {} });
  const ask = (sandbox: string): boolean => {
    if (!journal.healthy || shares.waitMs(sandbox) > 0) return false;
    calm.append({ ...sampleRecord(1), sandbox });
    return true;
  };
  const found = { served: 0, quiet: 0, leastRoom: 1 };
  for (let i = 0; i < 21 * 24 * 6; i++) {
    // No more than a busy door serves before shares are measured again.
    for (let n = 0; n < 200 && ask('loud'); n++) found.served++;
    journal.flush();
    if (i % 36 === 0 && ask('quiet')) found.quiet++;
    expect(journal.healthy).toBe(true);
    found.leastRoom = Math.min(found.leastRoom, journal.room);
    state.nowMs += 10 * minute;
  }
  journal.flush();
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, letGo: { chained: true } });
  return found;
}

test('a share as the policy has it by default leaves most of the journal to the others', {
  timeout: 60_000,
}, async () => {
  // The same part of max_bytes as 128 MiB are of 16 GiB.
  const { served, quiet, leastRoom } = await threeWeeks(most / 128);
  expect(served).toBeGreaterThan(300);
  expect(quiet).toBe(21 * 4);
  expect(leastRoom).toBeGreaterThan(0.85);
});

test('a share that is far too large shrinks before all are stopped', { timeout: 60_000 }, async () => {
  const { quiet, leastRoom } = await threeWeeks(most / 2);
  expect(quiet).toBe(21 * 4);
  expect(leastRoom).toBeGreaterThan(0.03);
});
