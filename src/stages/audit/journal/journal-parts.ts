// The journals that one gateway has with workers: its own, and beside it a folder for each worker, which is a whole journal
// with a chain, a head and signatures of its own. Says where they are and how they share the room; never writes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from './journal-files.ts';
import type { RetentionLimits } from './retention.ts';

/** Smaller files are not worth their names. */
const leastFileBytes = 4096;
const folderName = /^worker-([1-9]\d{0,3})$/;

export interface WorkerJournal {
  readonly worker: number;
  readonly directory: string;
}

/** Where a worker keeps what it has served: `directory` is the gateway's own journal. */
export function workerJournal(directory: string, worker: number): string {
  return join(directory, `worker-${worker}`);
}

/** Those that are there, also of workers that the gateway had once. Empty: it never had workers. */
export function listWorkerJournals(directory: string): WorkerJournal[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    if (isMissing(error) || isNoFolder(error)) return [];
    throw error;
  }
  return names
    .map((name) => Number(folderName.exec(name)?.[1] ?? 0))
    .filter((worker) => worker > 0)
    .sort((a, b) => a - b)
    .map((worker) => ({ worker, directory: workerJournal(directory, worker) }));
}

function isNoFolder(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOTDIR';
}

/** All journals of a gateway, its own first. */
export function journalDirectories(directory: string): string[] {
  return [directory, ...listWorkerJournals(directory).map((one) => one.directory)];
}

/** How many journals a gateway writes whose doors are served by so many processes. One that serves alone has its own. */
export function journalsOf(processes: number): number {
  return processes > 1 ? processes + 1 : 1;
}

/** What each of so many journals may take, so that together they take what one may. */
export function partOf(limits: RetentionLimits, journals: number): RetentionLimits {
  const { maxFileBytes, keepFiles, keepMs, maxBytes } = limits;
  return {
    maxFileBytes: Math.max(Math.min(leastFileBytes, maxFileBytes), Math.floor(maxFileBytes / journals)),
    keepFiles,
    ...(keepMs !== undefined && { keepMs }),
    ...(maxBytes !== undefined && { maxBytes: Math.floor(maxBytes / journals) }),
  };
}
