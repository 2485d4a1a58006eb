// The third step of a start: builds what serves people, which is the admin API and the dashboard. What they say is live, they
// have asked of the parts that run, not of the source. Opens nothing.

import { packageVersion } from '../../kit/files/package-version.ts';
import { openFileLimit, openFilesWarnings } from '../../kit/open-files.ts';
import type { AdminPorts, HealthReport, LiveControl } from '../admin/admin-ports.ts';
import { createAdminApi } from '../admin-api.ts';
import { guardedFiles } from '../config/guarded-files.ts';
import type { StartOptions } from '../contract.ts';
import { Joining } from '../joining.ts';
import { noNamespaces } from '../sandboxes/namespace-sandboxes.ts';
import { buildDashboard, type GatewayDashboard } from './build-dashboard.ts';
import type { Primary } from './build-primary.ts';
import { describeJournals } from './describe-journals.ts';
import { describeControls } from './live-controls.ts';
import type { KeptState } from './open-kept.ts';
import { isPastGrace, storeWarnings } from './open-store.ts';

export interface ForPeople {
  readonly page: GatewayDashboard;
  readonly api: AdminPorts;
  readonly controls: () => LiveControl[];
  /** What the operator should hear, at the start and whenever health is asked for. */
  readonly warnings: () => string[];
}

export function buildForPeople(options: StartOptions, kept: KeptState, primary: Primary): ForPeople {
  const { policy, registry, records, places, log } = kept;
  const { workers, approvals, core, configured } = primary;
  const { doors, forward } = core;
  const { reserved } = primary;
  const page = buildDashboard({ options, policy, people: approvals, feed: records.feed, reserved, log });
  const controls = (): LiveControl[] => controlsOf(kept, primary, page);
  const warnings = (): string[] => warningsOf(kept, primary);
  const reload = (): Promise<void> => primary.rollout.reload();
  const joining = new Joining({ options, policy, startedWith: kept.startedWith, processes: kept.processes, reload });
  const api: AdminPorts = createAdminApi({
    registry,
    secrets: core.secrets,
    inject: core.inject,
    github: core.github,
    lfsTickets: core.lfsTickets,
    budget: core.budget,
    doors: workers ?? doors,
    namespaces: workers === null ? primary.namespaces : noNamespaces,
    policy,
    configured,
    published: primary.published,
    doorPorts: (id) => primary.namespaces.doorPortsOf(id),
    credentialChanged: async (name, value) => workers?.secretChanged(name, value),
    health: () => healthOf(options, kept, primary, controls(), warnings()),
    metrics: async () => {
      await workers?.gather();
      return records.metrics.render({
        openConnections: (workers ?? doors).openConnections,
        openCircuits: (workers ?? forward).openCircuits,
        registeredSandboxes: registry.size,
        journal: describeJournals(records.journal, workers?.journals ?? []),
      });
    },
    journalDirectory: places.journalDirectory,
    people: approvals,
    dashboardAddress: page.invite,
    openDashboard: () => page.openOnRequest(api),
    join: joining.join,
  });
  return { page, api, controls, warnings };
}

function controlsOf(kept: KeptState, primary: Primary, page: GatewayDashboard): LiveControl[] {
  const { workers, docker, approvals, core, configured } = primary;
  return describeControls({
    policy: kept.policy(),
    ca: kept.ca,
    journal: describeJournals(kept.records.journal, workers?.journals ?? []),
    store: kept.opened.store,
    registry: kept.registry,
    doors: configured.names,
    docker: docker.status(),
    namespaces: core.doors.namespaces,
    workers: workers === null ? null : { live: workers.live > 0, detail: workers.describe() },
    people: approvals,
    page: page.origin(),
    rejected: kept.live.rejected,
    outbound: core.inject.isGuarded,
    stages: core.stages,
  });
}

function healthOf(
  options: StartOptions,
  { policy, records, opened, openedWith, ca, registry }: KeptState,
  { workers, configured }: Primary,
  controls: LiveControl[],
  warnings: string[],
): HealthReport {
  return {
    ready:
      describeJournals(records.journal, workers?.journals ?? []).healthy &&
      !isPastGrace(opened.store, opened.sharing) &&
      (configured.isOpen || options.doors === 'sandboxes') &&
      (workers === null || workers.live > 0),
    version: packageVersion(),
    config: policy().origin,
    doors: configured.names,
    ca: ca.certificatePath,
    sandboxes: registry.size,
    controls,
    warnings: [...storeWarnings(openedWith, policy().store), ...warnings],
    guarded: guardedFiles(policy()),
  };
}

function warningsOf({ live, ca, processes }: KeptState, { configured }: Primary): string[] {
  const rejected = live.rejected === null ? [] : [`the configuration file is not in force: ${live.rejected.message}`];
  const { warnings, limits } = live.current;
  const files = openFilesWarnings(openFileLimit(), processes, limits.gateway.connections);
  return [...rejected, ...warnings, ...files, ...ca.warnings, ...(configured.identityCa?.warnings ?? [])];
}
