import { appendFileSync, mkdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { spentSince } from '../../../../src/stages/audit/spent-before.ts';
import { collect, fileOf, journalDirectory, openJournal, sampleRecord } from './journal/journal-fixture.ts';

const cost = { model: 'm', tokens_in: 100, tokens_out: 20, cost_usd: 0.001175, credential: 'anthropic' };

describe('what was spent is found in the journal', () => {
  test('over several files, from the last back to the first that ended in time', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory, { maxFileBytes: 2048 });
    for (let hour = 1; hour <= 9; hour++) {
      const time = `2026-01-02T0${hour}:00:00.000Z`;
      journal.append({ ...sampleRecord(hour), ...cost, time, sandbox: `sbx-${hour}`, ms: 60_000 });
      journal.append({ ...sampleRecord(hour), time });
      journal.flush();
    }
    journal.close();
    const spent = await collect(spentSince(directory, Date.parse('2026-01-02T06:01:00Z')));
    expect(spent.map(({ sandbox }) => sandbox)).toEqual(['sbx-9', 'sbx-8', 'sbx-7', 'sbx-6']);
    expect(spent[0]).toEqual({ sandbox: 'sbx-9', credential: 'anthropic', tokens: 120, microDollars: 1175 });
    expect(await collect(spentSince(directory, Date.now() + 60_000))).toEqual([]);
  });

  test('what is no record of ours is passed over, and no journal is nothing spent', async () => {
    const directory = journalDirectory();
    expect(await collect(spentSince(directory, 0))).toEqual([]);
    mkdirSync(directory, { recursive: true });
    const time = '2026-01-02T03:00:00.000Z';
    const lines = [
      'not json',
      'null',
      { seq: 1, time, ms: 1, bytes_in: 5 },
      { seq: 2, time, ms: 1, tokens_in: -5, tokens_out: 1, cost_usd: 0 },
      { seq: 3, time, ms: 1, sandbox: 's', credential: null, tokens_in: 5, tokens_out: 1, cost_usd: 0 },
      { seq: 4, time, note: 'lost', text: 'x', count: 1 },
    ];
    for (const line of lines) {
      appendFileSync(fileOf(directory), `${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
    }
    expect(await collect(spentSince(directory, 0))).toEqual([
      { sandbox: 's', credential: null, tokens: 6, microDollars: 0 },
    ]);
  });
});
