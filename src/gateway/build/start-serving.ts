// The last step of a start: opens the doors, for people first and for sandboxes last, and says how all of it ends. If one
// cannot be opened, everything is stopped again.

import { giveBackMemory } from '../../kit/process/give-back-memory.ts';
import { spentSince } from '../../stages/audit/spent-before.ts';
import { type AdminServer, startAdminServer } from '../admin/admin-server.ts';
import { reportReloads } from '../config/followed-config.ts';
import type { Gateway, StartOptions, StartSummary } from '../contract.ts';
import type { WorkerPool } from '../worker-pool.ts';
import type { OpenDoors } from '../workers/worker-verbs.ts';
import type { ForPeople } from './build-people.ts';
import type { Primary } from './build-primary.ts';
import type { KeptState } from './open-kept.ts';

const drainMs = 10_000;

export async function startServing(
  options: StartOptions,
  kept: KeptState,
  primary: Primary,
  people: ForPeople,
): Promise<Gateway> {
  const { live, policy, log } = kept;
  let admin: AdminServer | null = null;
  // In another's program it is not for us to say.
  const leaveMemory = options.guest === true ? () => {} : giveBackMemory();
  const stop = async (graceMs: number): Promise<void> => {
    leaveMemory();
    primary.approvals.close();
    primary.published.stop();
    await primary.workers?.stop(graceMs);
    await primary.core.drain(graceMs);
    await people.page.close();
    await admin?.close();
    primary.docker.stop();
    primary.namespaces.stop();
    live.stop();
    await primary.publisher.settled();
    await kept.close();
  };
  try {
    // Before any door: who finds one open finds the certificate too, and no budget that was used up before.
    await primary.publisher.publish();
    await primary.core.budget.recall((sinceMs) => spentSince(kept.places.journalDirectory, sinceMs));
    admin = await startAdminServer({
      socketPath: kept.places.adminSocket,
      ports: people.api,
      onFault: (what, error) => log.error(what, { error }),
      listenOn: options.listenOn,
    });
    await people.page.open(people.api);
    await openDoors(options, kept, primary, people);
  } catch (error) {
    await stop(0);
    throw error;
  }
  live.watch(reportReloads(log, policy));
  return {
    summary: summaryOf(kept, primary, people),
    admin: people.api,
    reload: () => primary.rollout.reload(),
    stop: () => stop(drainMs),
  };
}

/** Private sockets first, then what Docker knows, then the doors of the configuration. */
async function openDoors(options: StartOptions, kept: KeptState, primary: Primary, people: ForPeople): Promise<void> {
  const { registry, policy, opened } = kept;
  const { workers, docker, core, configured } = primary;
  for (const record of registry.list()) {
    if (record.socketPath !== null) await (workers ?? core.doors).openPrivate(record.id, record.socketPath);
  }
  docker.start((input) => people.api.register(input));
  if (workers !== null) await configured.servedElsewhere(await startWorkers(kept, primary, workers));
  else if (options.doors !== 'sandboxes') await configured.open({ ...policy().listen, ...options.listen });
  if (configured.identityCa !== null) await opened.agreeOnIdentityCa(configured.identityCa.certificatePem);
}

function startWorkers(kept: KeptState, { docker, core, approvals }: Primary, workers: WorkerPool): Promise<OpenDoors> {
  const { registry, shared, opened, records } = kept;
  const { audit, secrets, known } = core;
  return workers.start({
    store: opened.store,
    registrations: shared!,
    registry,
    docker,
    journal: records.journal,
    shares: records.shares,
    audit,
    feed: records.feed,
    metrics: records.metrics,
    secrets,
    known,
    people: approvals,
  });
}

function summaryOf({ places, ca, policy }: KeptState, { configured, core }: Primary, people: ForPeople): StartSummary {
  return {
    doors: configured.described,
    adminSocket: places.adminSocket,
    caPath: ca.certificatePath,
    config: policy().origin,
    controls: people.controls(),
    rules: policy().allow.length,
    credentials: core.secrets.list(),
    warnings: people.warnings(),
    dashboard: people.page.invite(),
  };
}
