// The journals of several gateways as one stream, in the order in which things happened as far as their clocks agree. Every
// line keeps its bytes, so that each chain can be verified in the merged file too: see verify-merged.ts. Reads alone.
import { hashLine, isMissing, listJournalFiles, readLink, readTime } from './journal-files.ts';
import { listWorkerJournals } from './journal-parts.ts';
import { LineReader, LineTooLongError } from './line-reader.ts';
import { type Intact, type Verification, verifyJournal } from './verify.ts';

export interface NamedJournal {
  /** Letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  readonly directory: string;
}

export const gatewayName = /^[A-Za-z0-9._-]{1,64}$/;

/** What the workers of a gateway have served is in journals of theirs. */
export function withWorkers(own: NamedJournal): NamedJournal[] {
  const workers = listWorkerJournals(own.directory);
  return [own, ...workers.map(({ worker, directory }) => ({ name: `${own.name}-worker-${worker}`, directory }))];
}

export async function verifyEach(
  journals: readonly NamedJournal[],
): Promise<(NamedJournal & { found: Verification })[]> {
  const verified: (NamedJournal & { found: Verification })[] = [];
  for (const journal of journals) verified.push({ ...journal, found: await verifyJournal(journal.directory) });
  return verified;
}

/** Of a journal that could not be read to the end that was found: what was given of it so far is not whole. */
export class JournalChanged extends Error {
  override readonly name = 'JournalChanged';
}

/**
 * Lines without their newlines: who is in it, the records, and for each journal where it ends, so that a cut is seen. Each
 * journal must have been found intact; what was written since is left out. Throws JournalChanged rather than leave out more.
 */
export async function* mergeJournals(
  journals: readonly (NamedJournal & { readonly found: Intact })[],
): AsyncGenerator<string> {
  const open = journals.map((journal) => new JournalReader(journal));
  try {
    for (const one of open) await one.begin();
    yield JSON.stringify({ merged: journals.map(({ name }) => name) });
    for (let first = earliest(open); first !== null; first = earliest(open)) {
      yield `{"gateway":"${first.name}",${first.line!.slice(1)}`;
      await first.advance();
    }
  } finally {
    for (const one of open) await one.close();
  }
  for (const { name, found } of open) {
    yield JSON.stringify({ gateway: name, first: found.firstSeq, end: found.lastSeq, hash: found.hash });
  }
}

/** Retention may take the beginning of a journal again and again, but not for ever: a file takes its time to fill. */
const maxBeginnings = 40;

/** A journal that is being read: its next line, and when that happened. */
class JournalReader {
  readonly name: string;
  found: Intact;
  line: string | null = null;
  time = '';
  readonly #directory: string;
  #lines: AsyncGenerator<Buffer> | null = null;
  #seq = 0;
  #hash = '';

  constructor({ name, directory, found }: NamedJournal & { readonly found: Intact }) {
    this.name = name;
    this.#directory = directory;
    this.found = found;
  }

  /** From the record that was found to be the first; when retention has taken that, from what is the first now. */
  async begin(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#lines = linesOf(this.#directory);
      this.#seq = 0;
      try {
        await this.advance();
        return;
      } catch (error) {
        if (!(error instanceof JournalChanged || isMissing(error)) || attempt === maxBeginnings) throw error;
      }
      await this.close();
      const found = await verifyJournal(this.#directory);
      if (!found.ok) throw this.#changed(found.message);
      this.found = found;
    }
  }

  async advance(): Promise<void> {
    const { firstSeq, lastSeq, hash } = this.found;
    this.line = null;
    if (this.#seq === lastSeq) {
      if (lastSeq > 0 && this.#hash !== hash) throw this.#changed(`record ${lastSeq} is another`);
      return;
    }
    const expected = this.#seq === 0 ? firstSeq : this.#seq + 1;
    const line = await this.#next();
    const link = line === null ? null : readLink(line);
    // The chain is followed once more: what was verified a while ago may have been taken away or changed since.
    if (line === null || link?.seq !== expected || (this.#seq > 0 && link.prev !== this.#hash)) {
      throw this.#changed(`record ${expected} is not where it was`);
    }
    this.#seq = expected;
    this.#hash = hashLine(line);
    this.line = line.toString('utf8');
    // Records are written when they end and carry when they began: within one journal the order is that of the chain.
    this.time = readTime(line) ?? this.time;
  }

  async close(): Promise<void> {
    await this.#lines?.return(undefined);
  }

  async #next(): Promise<Buffer | null> {
    try {
      const step = await this.#lines!.next();
      return step.done === true ? null : step.value;
    } catch (error) {
      if (isMissing(error) || error instanceof LineTooLongError) return null;
      throw error;
    }
  }

  #changed(how: string): JournalChanged {
    return new JournalChanged(`the journal of ${this.name} changed while it was read: ${how}`);
  }
}

function earliest(open: readonly JournalReader[]): JournalReader | null {
  let first: JournalReader | null = null;
  for (const one of open) if (one.line !== null && (first === null || one.time < first.time)) first = one;
  return first;
}

/** So many files are open before they are read: what retention removes meanwhile can then still be read. */
const openAhead = 32;

async function* linesOf(directory: string): AsyncGenerator<Buffer> {
  const files = listJournalFiles(directory);
  const ahead: LineReader[] = [];
  let opened = 0;
  try {
    for (;;) {
      while (ahead.length < openAhead && opened < files.length)
        ahead.push(await LineReader.open(files[opened++]!.path));
      const [reader] = ahead;
      if (reader === undefined) return;
      for (let lines = await reader.next(); lines !== null; lines = await reader.next()) yield* lines;
      ahead.shift();
      await reader.close();
    }
  } finally {
    for (const reader of ahead) await reader.close();
  }
}
