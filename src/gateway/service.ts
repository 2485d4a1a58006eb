// Starts a gateway, in four steps that read from top to bottom (docs/adr/047). Each returns what the next needs; no step asks
// for what comes after it.

import { buildForPeople } from './build/build-people.ts';
import { buildPrimary } from './build/build-primary.ts';
import { openKept } from './build/open-kept.ts';
import { startServing } from './build/start-serving.ts';
import type { Gateway, StartOptions } from './contract.ts';

export { lookAtCredentials } from './config/look-at-credentials.ts';
export { judgeCase } from './decisions/judge-cases.ts';
/** A process that a gateway has started beside itself (listen.workers). Resolves when it has ended in order. */
export { runWorker as startWorker } from './worker.ts';

export async function startGateway(options: StartOptions): Promise<Gateway> {
  const kept = await openKept(options);
  try {
    const primary = buildPrimary(options, kept);
    const people = buildForPeople(options, kept, primary);
    return await startServing(options, kept, primary, people);
  } catch (error) {
    await kept.close();
    throw error;
  }
}
