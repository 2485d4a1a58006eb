// The journals of several gateways as one stream, in the order in which things happened as far as their clocks agree. Every
// line keeps its bytes, so that each chain can be verified in the merged file too: see verify-merged.ts. Reads alone.
import { listJournalFiles, readLink } from './journal-files.ts';
import { LineReader } from './line-reader.ts';
import { type Intact, type Verification, verifyJournal } from './verify.ts';

export interface NamedJournal {
  /** Letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  readonly directory: string;
}

export const gatewayName = /^[A-Za-z0-9._-]{1,64}$/;

export async function verifyEach(
  journals: readonly NamedJournal[],
): Promise<(NamedJournal & { found: Verification })[]> {
  const verified: (NamedJournal & { found: Verification })[] = [];
  for (const journal of journals) verified.push({ ...journal, found: await verifyJournal(journal.directory) });
  return verified;
}

/**
 * Lines without their newlines: who is in it, the records, and for each journal where it ends, so that a cut is seen. Each
 * journal must have been found intact; what was written since is left out.
 */
export async function* mergeJournals(
  journals: readonly (NamedJournal & { readonly found: Intact })[],
): AsyncGenerator<string> {
  yield JSON.stringify({ merged: journals.map(({ name }) => name) });
  const open = journals.map((journal) => new Reading(journal));
  try {
    for (const one of open) await one.advance();
    for (let first = earliest(open); first !== null; first = earliest(open)) {
      yield `{"gateway":"${first.journal.name}",${first.line!.slice(1)}`;
      await first.advance();
    }
  } finally {
    for (const one of open) await one.close();
  }
  for (const { name, found } of journals) {
    yield JSON.stringify({ gateway: name, first: found.firstSeq, end: found.lastSeq, hash: found.hash });
  }
}

/** A journal that is being read: its next line, and when that happened. */
class Reading {
  readonly journal: NamedJournal & { readonly found: Intact };
  line: string | null = null;
  time = '';
  readonly #lines: AsyncGenerator<Buffer>;

  constructor(journal: NamedJournal & { readonly found: Intact }) {
    this.journal = journal;
    this.#lines = linesOf(journal.directory);
  }

  async advance(): Promise<void> {
    const step = await this.#lines.next();
    const seq = step.done === true ? null : (readLink(step.value)?.seq ?? null);
    if (step.done === true || seq === null || seq > this.journal.found.lastSeq) {
      this.line = null;
      return;
    }
    this.line = step.value.toString('utf8');
    // Records are written when they end and carry when they began: within one journal the order is that of the chain.
    this.time = /"time":"([^"]{20,30})"/.exec(this.line.slice(0, 256))?.[1] ?? this.time;
  }

  async close(): Promise<void> {
    await this.#lines.return(undefined);
  }
}

function earliest(open: readonly Reading[]): Reading | null {
  let first: Reading | null = null;
  for (const one of open) if (one.line !== null && (first === null || one.time < first.time)) first = one;
  return first;
}

async function* linesOf(directory: string): AsyncGenerator<Buffer> {
  for (const file of listJournalFiles(directory)) {
    const reader = await LineReader.open(file.path);
    try {
      for (let lines = await reader.next(); lines !== null; lines = await reader.next()) yield* lines;
    } finally {
      await reader.close();
    }
  }
}
