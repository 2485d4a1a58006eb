// Attack: ask for what is refused, as fast and in as long words as the door reads, for twenty minutes, so that the records of
// it fill the journal and those of others are rotated out of it. The clock is the test's own.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Refusal, type RefusalCode } from '../../../src/path/refusal.ts';
import { CalmJournal } from '../../../src/stages/audit/journal/calm-journal.ts';
import { JournalShares } from '../../../src/stages/audit/journal/journal-shares.ts';
import { readJournal } from '../../../src/stages/audit/journal/read-journal.ts';
import { describeFlow, type RecordBody } from '../../../src/stages/audit/journal/record.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { forwardedFlow } from '../../unit/stages/audit/flow-fixture.ts';
import { collect, journalDirectory, openJournal } from '../../unit/stages/audit/journal/journal-fixture.ts';

const mib = 1024 * 1024;
const codes: RefusalCode[] = ['path.not-allowed', 'domain.not-allowed', 'policy.blocked-api', 'limit.rate'];

function refused(code: RefusalCode, sandbox: string | null, from: string | null = null): RecordBody {
  const flow = forwardedFlow();
  const path = `/${'漢'.repeat(8000)}`;
  const refusal = new Refusal(code, `GET ${path} is not allowed`, { hint: `Allow "${path}".` });
  const record = describeFlow(
    { ...flow, canonical: { ...flow.canonical, path } },
    { verdict: 'refused', status: refusal.status, refusal, error: null },
  );
  return { ...record, sandbox, from, upstream: null, credential: null };
}

function open(bytesPerDay: number) {
  const directory = journalDirectory();
  const state = { nowMs: 0, waiting: [] as (() => void)[] };
  const now = (): number => state.nowMs;
  // As many files as before: what is too much goes.
  const journal = openJournal(directory, { maxFileBytes: mib, keepFiles: 20 });
  const shares = new JournalShares({ bytesPerDay: () => bytesPerDay, room: () => 1, now });
  const calm = new CalmJournal({
    journal,
    shares,
    now,
    later: (act) => {
      state.waiting.push(act);
      return { unref() {} };
    },
    onFailure: (_record, error) => {
      throw error;
    },
  });
  const second = (): void => {
    state.nowMs += 1000;
    for (const act of state.waiting.splice(0)) act();
  };
  return { directory, journal, calm, second };
}

function bytesIn(directory: string): number {
  const files = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  return files.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

/** Refusals that are in the journal: each has its record, or is in the number of one. */
async function countRefusals(directory: string, sandbox: string): Promise<number> {
  const entries = await collect(readJournal(directory, { sandbox, refusedOnly: true, limit: 1_000_000 }));
  return entries.reduce((sum, entry) => sum + ('note' in entry ? entry.count : (entry.merged?.count ?? 1)), 0);
}

test.each([
  // An eighth of the share is for refusals.
  ['of a share of 128 MiB', 128 * mib, 17 * mib],
  ['past its share in notes alone', 4 * mib, 1 * mib],
])('six thousand refusals a minute for twenty minutes, %s', { timeout: 60_000 }, async (_how, bytesPerDay, most) => {
  const { directory, journal, calm, second } = open(bytesPerDay);
  const evidence = { ...refused('path.not-allowed', 'quiet'), id: 'the-evidence' };
  expect(calm.append(evidence)).toBe(1);
  const hostile = codes.map((code) => refused(code, 'loud'));
  let sent = 0;
  for (let s = 0; s < 1200; s++) {
    for (let i = 0; i < 100; i++) calm.append(hostile[sent++ % hostile.length]!);
    // What it was served in between is seen, and what others are refused.
    if (s === 600) {
      expect(calm.append({ ...hostile[0]!, id: 'served', verdict: 'allowed', code: null })).toBeGreaterThan(0);
      expect(calm.append({ ...evidence, id: 'the-second' })).toBeGreaterThan(0);
    }
    second();
  }
  calm.flush();
  journal.flush();
  expect(bytesIn(directory)).toBeLessThan(most);
  expect(await countRefusals(directory, 'loud')).toBe(sent);
  const text = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  for (const id of ['the-evidence', 'the-second', 'served']) expect(text.join('')).toContain(`"id":"${id}"`);
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, firstSeq: 1, letGo: null });
});

test('callers that nobody knows have one share, from however many addresses', { timeout: 60_000 }, async () => {
  const { directory, journal, calm, second } = open(8 * mib);
  const record = refused('sandbox.unknown', null);
  let sent = 0;
  for (let s = 0; s < 300; s++) {
    for (let i = 0; i < 200; i++) calm.append({ ...record, from: `192.0.2.${sent++ % 250}` });
    second();
  }
  calm.flush();
  journal.flush();
  expect(bytesIn(directory)).toBeLessThan(1.5 * mib);
  const all = await collect(readJournal(directory, { limit: 1_000_000 }));
  const counted = all.reduce((sum, entry) => sum + ('note' in entry ? entry.count : (entry.merged?.count ?? 1)), 0);
  expect(counted).toBe(sent);
});
