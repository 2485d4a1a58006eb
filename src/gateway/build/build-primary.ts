// The second step of a start: builds the core as the gateway's own process has it, with its sandboxes, the people it asks
// and, where there are any, its workers. Opens no door and starts no process.

import { join } from 'node:path';
import { PolicyRollout } from '../config/policy-rollout.ts';
import type { StartOptions } from '../contract.ts';
import { PublishedPorts } from '../ports/published-ports.ts';
import { ReservedPorts } from '../ports/reserved-ports.ts';
import { DockerSandboxes } from '../sandboxes/docker-sandboxes.ts';
import { NamespaceSandboxes } from '../sandboxes/namespace-sandboxes.ts';
import { TrustPublisher } from '../sandboxes/published-trust.ts';
import { WorkerPool } from '../worker-pool.ts';
import { type Approvals, buildApprovals } from './build-approvals.ts';
import { ConfiguredDoors } from './configured-doors.ts';
import { createGatewayCore, type GatewayCore } from './gateway-core.ts';
import { portsOf } from './open-gateway-doors.ts';
import type { KeptState } from './open-kept.ts';
import { storeWarnings } from './open-store.ts';

export interface Primary {
  /** Null: this process serves the doors itself. */
  readonly workers: WorkerPool | null;
  readonly rollout: PolicyRollout;
  readonly docker: DockerSandboxes;
  readonly approvals: Approvals;
  readonly core: GatewayCore;
  readonly namespaces: NamespaceSandboxes;
  readonly configured: ConfiguredDoors;
  readonly publisher: TrustPublisher;
  readonly reserved: ReservedPorts;
  readonly published: PublishedPorts;
}

export function buildPrimary(options: StartOptions, kept: KeptState): Primary {
  const { live, policy, recorded, registry, records, ca, log } = kept;
  const workers = buildWorkerPool(options, kept);
  if (workers !== null) records.roomOfWorkers = () => Math.min(1, ...workers.journals.map(({ room }) => room));
  const rollout = new PolicyRollout(live, recorded, workers);
  const docker = new DockerSandboxes({ registry, policy, log });
  registry.useWitness((asked) => docker.resolve(asked));
  const approvals = buildApprovals({
    policy,
    registry,
    feed: records.feed,
    journal: records.journal,
    machine: kept.machine,
    checkMayFollow: () => live.checkMayFollow(),
    reload: () => rollout.reload(),
    spread: async (set) => workers?.approvalsChanged(set),
  });
  const reserved = new ReservedPorts();
  const core = buildCore(options, kept, docker, approvals, reserved);
  const { doors, leaves } = core;
  const namespaces = new NamespaceSandboxes({
    doors,
    policy,
    reserved,
    commonCa: ca,
    report: (what, detail) => log.warn(what, detail),
    isRegistered: (record) => registry.lookUpId(record.id) === record,
    unregister: (id) => registry.remove(id),
    onFailure: (error) => log.error('a sandbox that is gone could not be unregistered', { error }),
  });
  const published = new PublishedPorts({
    reserved,
    doorPorts: (id) => namespaces.doorPortsOf(id),
    idleTimeoutMs: () => policy().limits.idleTimeoutMs,
    file: join(kept.places.runDirectory, 'published.json'),
    onFailure: (error) => log.error('what is published could not be written down', { error }),
  });
  const configured = new ConfiguredDoors({ ...kept.places, doors, registry, ca, leaves, policy, reserved, log });
  const publisher = new TrustPublisher(options.publish, policy, ca.certificatePem, log);
  const primary = { workers, rollout, docker, approvals, core, namespaces, configured, publisher, reserved, published };
  followChanges(kept, primary);
  return primary;
}

function buildWorkerPool(options: StartOptions, kept: KeptState): WorkerPool | null {
  if (kept.shared === null) return null;
  return new WorkerPool({
    count: kept.processes,
    entry: options.workerEntry!,
    env: kept.startedWith,
    start: {
      home: kept.places.home,
      config: kept.configFile,
      listen: { ...kept.policy().listen, ...options.listen },
      userKeys: options.userKeys === true,
      gatewayName: kept.opened.sharing?.gateway ?? null,
    },
    seen: kept.recorded.snapshot(),
    log: kept.log,
  });
}

function buildCore(
  options: StartOptions,
  kept: KeptState,
  docker: DockerSandboxes,
  approvals: Approvals,
  reserved: ReservedPorts,
): GatewayCore {
  const { calm, metrics, feed, shares } = kept.records;
  const { store, sharing } = kept.opened;
  return createGatewayCore({
    policy: kept.policy,
    ca: kept.ca,
    registry: kept.registry,
    store,
    records: { journal: calm, metrics, feed, refusals: approvals.refusals },
    asking: approvals.asking,
    approvals: approvals.approvals,
    inside: approvals.inside,
    journalWaitMs: (sandboxId) => shares.waitMs(sandboxId),
    meters: store.meters,
    ...(sharing !== null && { gatewayName: sharing.gateway }),
    onDial: (ok) => metrics.countConnect(ok),
    reserved,
    confirm: (address) => docker.confirm(address),
    spoolDirectory: kept.places.spoolDirectory,
    processes: kept.processes,
    home: kept.machine.home,
    env: kept.env,
    userKeys: options.userKeys === true,
    log: kept.log,
  });
}

/** What follows when a sandbox is unregistered, and when another policy is in force. */
function followChanges(kept: KeptState, primary: Primary): void {
  const { live, registry, records, openedWith, log } = kept;
  const { workers, docker, core, namespaces, publisher, published } = primary;
  registry.onRemoved((id) => {
    namespaces.forget(id);
    published.drop(id);
    workers?.cut(id);
    core.drop(id);
  });
  live.onChange((changed) => {
    publisher.publishAgain();
    for (const warning of storeWarnings(openedWith, changed.store)) log.warn(warning);
    core.configure(changed);
    records.configure(changed);
    docker.configure();
    core.doors
      .listenOn(portsOf(changed))
      .catch((error: unknown) => log.error('a port of the policy is not served', { error }));
  });
}
