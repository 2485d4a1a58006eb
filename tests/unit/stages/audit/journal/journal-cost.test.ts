// Not a check of time, which depends on the machine: prints what a record costs, and checks that all were kept.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { describeFlow } from '../../../../../src/stages/audit/journal/record.ts';
import { verifyJournal } from '../../../../../src/stages/audit/journal/verify.ts';
import { forwardedFlow } from '../flow-fixture.ts';
import { journalDirectory, openJournal } from './journal-fixture.ts';

test('a hundred thousand records are described, chained, written and verified', async () => {
  const directory = journalDirectory();
  const journal = openJournal(directory, { maxFileBytes: 64 << 20 });
  const flow = forwardedFlow();
  const count = 100_000;
  const before = process.cpuUsage();
  for (let i = 1; i <= count; i++) {
    journal.append(describeFlow(flow, { verdict: 'allowed', status: 200, refusal: null, error: null }));
    // As on a busy gateway: several requests end in one turn.
    if (i % 16 === 0) await nextTurn();
  }
  journal.close();
  const { user, system } = process.cpuUsage(before);
  console.log(`journal: ${((user + system) / count).toFixed(2)} µs of CPU for a record`);
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: count, lastSeq: count });
});
