// Whether all that a gateway has written down holds together: its own journal, the journals of its workers, and that none of
// these is missing or was rolled back, as the gateway's own remembers them. Reads alone.
import type { NotedWorker } from './journal-files.ts';
import { listWorkerJournals, workerJournal } from './journal-parts.ts';
import { type Broken, followChain, type Intact, type Pinned } from './verify.ts';

export interface WorkerIntact extends Intact {
  readonly worker: number;
}

/** `workers` is left out where there never were any. */
export type GatewayVerification = Broken | (Intact & { readonly workers?: readonly WorkerIntact[] });

export async function verifyGateway(directory: string): Promise<GatewayVerification> {
  // First: what it remembers of the others is in their files by then.
  const { found: own, noted } = await followChain(directory);
  if (!own.ok) return own;
  const known = new Map<number, NotedWorker[]>();
  for (const one of noted) {
    if (one.gone) known.delete(one.worker);
    else known.set(one.worker, [...(known.get(one.worker) ?? []), one]);
  }
  for (const { worker } of listWorkerJournals(directory)) if (!known.has(worker)) known.set(worker, []);
  const workers: WorkerIntact[] = [];
  for (const worker of [...known.keys()].sort((a, b) => a - b)) {
    const { found } = await followChain(workerJournal(directory, worker), known.get(worker)!.map(pinOf));
    if (!found.ok) return inFolder(worker, found);
    workers.push({ worker, ...found });
  }
  return workers.length === 0 ? own : { ...own, workers };
}

function pinOf({ worker, seq, hash, time }: NotedWorker): Pinned {
  const missing = `at ${time} the journal of the gateway noted record ${seq} of worker ${worker}, ${hash.slice(0, 12)}…`;
  return { seq, hash, missing };
}

function inFolder(worker: number, found: Broken): Broken {
  const folder = `worker-${worker}`;
  return {
    ...found,
    file: found.file === null ? folder : `${folder}/${found.file}`,
    message: `in the journal of worker ${worker}: ${found.message}`,
  };
}
