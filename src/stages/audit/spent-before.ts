// What was spent at the providers of models, as the journal has it: for a gateway that begins anew in the middle of a period,
// and for a store that has lost it. Reads from the last record back, and no further than it must; changes nothing.
import { stat } from 'node:fs/promises';
import type { PastSpending } from '../../path/exchange/answer-meter.ts';
import { isMissing, listJournalFiles } from './journal/journal-files.ts';
import { journalDirectories } from './journal/journal-parts.ts';
import { readLinesBackwards } from './journal/line-reader.ts';
import type { AuditRecord } from './journal/record.ts';

/** How encode-line.ts writes that nothing was spent: most records are not worth reading. */
const nothing = Buffer.from('"tokens_in":0,"tokens_out":0,');

/** Of requests that ended at `sinceMs` (milliseconds since the epoch) or later, of each journal the last one first. */
export async function* spentSince(directory: string, sinceMs: number): AsyncGenerator<PastSpending> {
  for (const one of journalDirectories(directory)) yield* spentIn(one, sinceMs);
}

async function* spentIn(directory: string, sinceMs: number): AsyncGenerator<PastSpending> {
  for (const { path } of listJournalFiles(directory).reverse()) {
    try {
      // Nothing was added to it since, nor to those before it.
      if ((await stat(path)).mtimeMs < sinceMs) return;
      for await (const { line } of readLinesBackwards(path)) {
        if (line.includes(nothing)) continue;
        const record = parse(line);
        if (record === null) continue;
        if (Date.parse(record.time) + record.ms < sinceMs) return;
        const { sandbox, credential, tokens_in, tokens_out, cost_usd } = record;
        yield { sandbox, credential, tokens: tokens_in + tokens_out, microDollars: Math.round(cost_usd * 1_000_000) };
      }
    } catch (error) {
      // Retention was quicker: what is older is gone too.
      if (isMissing(error)) return;
      throw error;
    }
  }
}

/** Null: a note, a record of an older version that knew no tokens, or a spoilt line. */
function parse(line: Buffer): AuditRecord | null {
  try {
    const value = JSON.parse(line.toString('utf8')) as Partial<AuditRecord> | null;
    const isRecord = [value?.tokens_in, value?.tokens_out, value?.cost_usd, value?.ms].every(isAmount);
    return isRecord && typeof value?.time === 'string' ? (value as AuditRecord) : null;
  } catch {
    return null;
  }
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
