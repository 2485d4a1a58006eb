// The journal as evidence, read from its files without the gateway, which must not vouch for itself. Checks that each record
// names the hash of the one before it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalRecord } from './attack.ts';

export class JournalEvidence {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records with a higher number. */
  after(seq: number): JournalRecord[] {
    return this.#lines().flatMap((line) => {
      const record = parse(line);
      return record === null || record.seq <= seq ? [] : [record];
    });
  }

  /** Null: the chain holds. Otherwise where it breaks. */
  chainBreak(): string | null {
    const lines = this.#lines();
    for (const [i, line] of lines.entries()) {
      const link = parse(line);
      if (link === null) return `record ${i + 1} cannot be read`;
      const before = i === 0 ? null : lines[i - 1]!;
      if (before === null) continue;
      const prev = createHash('sha256').update(before).digest('hex');
      if (link.prev !== prev) return `record ${link.seq} does not follow the one before it`;
    }
    return null;
  }

  /** Whole lines in the order in which they were written. */
  #lines(): string[] {
    const files = readdirSync(this.#folder).filter((name) => name.endsWith('.jsonl'));
    return files.sort().flatMap((name) => {
      const text = readFileSync(join(this.#folder, name), 'utf8');
      return text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .slice(0, -1);
    });
  }
}

/** Notes of the journal about itself have no verdict and are left out by their reader. */
function parse(line: string): (JournalRecord & { readonly prev: string }) | null {
  try {
    const value = JSON.parse(line) as Partial<JournalRecord & { prev: string }>;
    if (typeof value.seq !== 'number' || typeof value.prev !== 'string') return null;
    return {
      seq: value.seq,
      prev: value.prev,
      sandbox: value.sandbox ?? null,
      host: value.host ?? '',
      path: value.path ?? '',
      verdict: value.verdict ?? 'note',
      code: value.code ?? null,
    };
  } catch {
    return null;
  }
}
