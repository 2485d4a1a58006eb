// What a gateway has written down, from its files: whole lines of its own journal and of those of its workers.
import { readFileSync } from 'node:fs';
import { listJournalFiles } from '../../src/stages/audit/journal/journal-files.ts';
import { journalDirectories } from '../../src/stages/audit/journal/journal-parts.ts';

/** Of all journals of a gateway: its own, then those of its workers. */
export function journalLines(directory: string): Record<string, unknown>[] {
  return journalDirectories(directory).flatMap((one) =>
    listJournalFiles(one).flatMap(({ path }) =>
      readFileSync(path, 'utf8')
        .split('\n')
        // What is behind the last line break is being written.
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    ),
  );
}
