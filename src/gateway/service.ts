// Puts the gateway together, starts it and stops it: the only file that knows every room. What it says is live, it has
// asked of the parts that run, not of the source.

import { placesIn } from '../kit/files/home.ts';
import { packageVersion } from '../kit/files/package-version.ts';
import { ensurePrivateDirectory } from '../kit/files/secure-directory.ts';
import { inTurn } from '../kit/in-turn.ts';
import { sealMemory } from '../kit/process/core-dumps.ts';
import { createLog } from '../kit/text/log.ts';
import { LivePolicy } from '../policy/load/live-policy.ts';
import { openCa } from '../stages/accept/tls/ca.ts';
import { Feed } from '../stages/audit/feed.ts';
import { CalmJournal } from '../stages/audit/journal/calm-journal.ts';
import { Journal } from '../stages/audit/journal/journal.ts';
import { JournalShares } from '../stages/audit/journal/journal-shares.ts';
import { JournalSigner } from '../stages/audit/journal/journal-signer.ts';
import { Metrics } from '../stages/audit/metrics.ts';
import { spentSince } from '../stages/audit/spent-before.ts';
import { SandboxRegistry } from '../stages/identify/registry/registry.ts';
import { startAdminServer } from './admin/admin-server.ts';
import { createAdminApi } from './admin-api.ts';
import { buildApprovals } from './build/build-approvals.ts';
import { buildDashboard } from './build/build-dashboard.ts';
import { loadTablesFor } from './build/built-in-tables.ts';
import { ConfiguredDoors } from './build/configured-doors.ts';
import { createGatewayCore, type GatewayCore } from './build/gateway-core.ts';
import { warningsOf } from './build/gateway-warnings.ts';
import { describeControls } from './build/live-controls.ts';
import { portsOf } from './build/open-gateway-doors.ts';
import { isPastGrace, openStore, storeWarnings } from './build/open-store.ts';
import { findPolicy } from './config/find-policy.ts';
import { followOnlyTheUsers, reportReloads } from './config/followed-config.ts';
import { guardedFiles } from './config/guarded-files.ts';
import type { Gateway, StartOptions, StartSummary } from './contract.ts';
import { DockerSandboxes } from './sandboxes/docker-sandboxes.ts';
import { NamespaceSandboxes, noNamespaces } from './sandboxes/namespace-sandboxes.ts';
import { publishedHome, publishTrust } from './sandboxes/published-trust.ts';
import { GatewayWorkers } from './worker-pool.ts';
import { RecordedMachine } from './workers/recorded-machine.ts';
import { SharedRegistrations } from './workers/shared-registrations.ts';

const drainMs = 10_000;

export { judgeCase } from './decisions/judge-cases.ts';
/** A process that a gateway has started beside itself (listen.workers). Resolves when it has ended in order. */
export { runWorker as startWorker } from './worker.ts';

export async function startGateway(options: StartOptions): Promise<Gateway> {
  // Workers are started with what this process was started with, before a credential is taken out of it.
  const startedWith = { ...process.env };
  // Before any credential is read.
  if (options.guest !== true) sealMemory();
  loadTablesFor(options.doors);
  const places = placesIn(options.home);
  const log = options.log ?? createLog();
  const { machine, configFile, env } = findPolicy(options);
  const recorded = new RecordedMachine(machine);
  const { workerEntry } = options;
  const asked = workerEntry === undefined ? machine : recorded;
  const live = await LivePolicy.open(configFile, asked, options.judge, followOnlyTheUsers(options, configFile));
  const policy = () => live.current;
  const workerCount = workerEntry === undefined || options.doors === 'sandboxes' ? 1 : policy().listen.workers;
  const { home, runDirectory, sandboxSockets, spoolDirectory } = places;
  for (const directory of [home, runDirectory, sandboxSockets, spoolDirectory]) ensurePrivateDirectory(directory);
  const ca = await openCa(places.caDirectory);
  const journal = new Journal({ directory: places.journalDirectory, ...policy().audit, log });
  const signer = new JournalSigner({ journal, log });
  const docker = new DockerSandboxes({
    registry: () => registry,
    policy,
    register: (input) => api.register(input),
    log,
  });
  const openedWith = policy().store;
  const { store, sharing, agreeOnIdentityCa, close: closeStore } = await openStore({ policy, ca, places, log });
  const shared = workerCount > 1 ? new SharedRegistrations(store.registrations) : null;
  const registry: SandboxRegistry = await SandboxRegistry.open({
    store: shared === null ? store : shared.within(store),
    ...(sharing !== null && { sharing }),
    knownCredentials: () => new Set(policy().credentials.keys()),
    socketDirectory: places.sandboxSockets,
    witness: (asked) => docker.resolve(asked),
    onFailure: (error) => log.error('the registry could not be written', { error }),
  });
  const metrics: Metrics = new Metrics({
    openConnections: () => workers?.openConnections ?? doors.openConnections,
    openCircuits: () => workers?.openCircuits ?? core.forward.openCircuits,
    registeredSandboxes: () => registry.size,
    journal,
  });
  const shares = new JournalShares({
    bytesPerDay: () => policy().audit.sandboxBytesPerDay,
    room: () => journal.room,
  });
  const calm = new CalmJournal({
    journal,
    shares,
    onFailure: (record, error) => {
      metrics.countUnrecorded();
      log.error('a record could not be kept in the journal', { record, error });
    },
  });
  const feed = new Feed();
  const people = buildApprovals({
    policy,
    registry,
    feed,
    journal,
    machine,
    checkMayFollow: () => live.checkMayFollow(),
    reload: () => reload(),
    spread: async (set) => workers?.approvalsChanged(set),
  });
  const core: GatewayCore = createGatewayCore({
    policy,
    ca,
    registry,
    store,
    records: { journal: calm, metrics, feed, refusals: people.refusals },
    ...people,
    journalWaitMs: (sandboxId) => shares.waitMs(sandboxId),
    meters: store.meters,
    ...(sharing !== null && { gatewayName: sharing.gateway }),
    onDial: (ok) => metrics.countConnect(ok),
    confirm: (address) => docker.confirm(address),
    spoolDirectory: places.spoolDirectory,
    processes: workerCount,
    home: machine.home,
    env,
    userKeys: options.userKeys === true,
    log,
  });
  const { leaves, secrets, inject, github, stages, doors } = core;
  const workers =
    shared === null
      ? null
      : new GatewayWorkers({
          count: workerCount,
          entry: workerEntry!,
          env: startedWith,
          start: {
            home,
            config: configFile,
            listen: { ...policy().listen, ...options.listen },
            userKeys: options.userKeys === true,
            gatewayName: sharing?.gateway ?? null,
          },
          seen: recorded.snapshot(),
          store,
          registrations: shared,
          registry,
          docker,
          journal,
          shares,
          audit: core.audit,
          metrics,
          secrets,
          known: core.known,
          people,
          log,
        });

  const namespaces = new NamespaceSandboxes({
    doors,
    policy,
    commonCa: ca,
    report: (what, detail) => log.warn(what, detail),
    isRegistered: (record) => registry.lookUpId(record.id) === record,
    unregister: (id) => registry.remove(id),
    onFailure: (error) => log.error('a sandbox that is gone could not be unregistered', { error }),
  });
  registry.onRemoved((id) => {
    namespaces.forget(id);
    workers?.cut(id);
    core.drop(id);
  });
  const publish = async (): Promise<void> => {
    if (options.publish === undefined) return;
    const { githubHosts, gitHosts, credentials } = policy();
    const home = publishedHome(credentials);
    const hosts = new Set([...githubHosts, ...gitHosts]);
    await publishTrust({ folder: options.publish, caPem: ca.certificatePem, gitHosts: [...hosts], home });
  };
  // Of two side by side, each would remove what the other has written.
  const publishInTurn = inTurn(publish);
  let published: Promise<void> = Promise.resolve();
  let spreading: Promise<void> = Promise.resolve();
  live.onChange((changed) => {
    if (workers !== null) spreading = workers.policyChanged(recorded.snapshot());
    published = publishInTurn().catch((error: unknown) =>
      log.error('the files for sandboxes could not be written', { error }),
    );
    for (const warning of storeWarnings(openedWith, changed.store)) log.warn(warning);
    core.configure(changed);
    journal.configure(changed.audit);
    shares.configure();
    docker.configure();
    doors
      .listenOn(portsOf(changed))
      .catch((error: unknown) => log.error('a port of the policy is not served', { error }));
  });

  const configured = new ConfiguredDoors({ ...places, doors, registry, ca, leaves, policy, log });
  const controls = () =>
    describeControls({
      policy: policy(),
      ca,
      journal,
      store,
      registry,
      doors: configured.names,
      docker: docker.status(),
      namespaces: doors.namespaces,
      workers: workers === null ? null : { live: workers.live > 0, detail: workers.describe() },
      people,
      page: page.origin(),
      rejected: live.rejected,
      outbound: inject.isGuarded,
      stages,
    });
  const page = buildDashboard({ options, policy, people, feed, admin: () => api, log });
  const api = createAdminApi({
    registry,
    secrets,
    inject,
    github,
    lfsTickets: core.lfsTickets,
    budget: core.budget,
    doors: workers ?? doors,
    namespaces: workers === null ? namespaces : noNamespaces,
    policy,
    configured,
    credentialChanged: async (name, value) => workers?.secretChanged(name, value),
    health: () => ({
      ready:
        journal.healthy &&
        !isPastGrace(store, sharing) &&
        (configured.isOpen || options.doors === 'sandboxes') &&
        (workers === null || workers.live > 0),
      version: packageVersion(),
      config: policy().origin,
      doors: configured.names,
      ca: ca.certificatePath,
      sandboxes: registry.size,
      controls: controls(),
      warnings: [...storeWarnings(openedWith, policy().store), ...warningsOf(live, ca, configured, workerCount)],
      guarded: guardedFiles(policy()),
    }),
    metrics: () => metrics.render(),
    journalDirectory: places.journalDirectory,
    people,
    dashboardAddress: page.invite,
  });

  const undo: (() => Promise<void> | void)[] = [
    () => docker.stop(),
    () => namespaces.stop(),
    () => live.stop(),
    () => published,
    () => registry.close(),
    closeStore,
    () => calm.flush(),
    () => signer.close(),
  ];
  const stop = async (graceMs: number): Promise<void> => {
    people.close();
    await workers?.stop(graceMs);
    await core.drain(graceMs);
    for (const step of undo) await step();
  };
  try {
    // Before any door: who finds one open finds the certificate too, and no budget that was used up before.
    await publish();
    await core.budget.recall((sinceMs) => spentSince(places.journalDirectory, sinceMs));
    const admin = await startAdminServer({
      socketPath: places.adminSocket,
      ports: api,
      onFault: (what, error) => log.error(what, { error }),
    });
    undo.unshift(page.close, () => admin.close());
    await page.open();
    for (const record of registry.list()) {
      if (record.socketPath !== null) await (workers ?? doors).openPrivate(record.id, record.socketPath);
    }
    docker.start();
    if (workers !== null) await configured.servedElsewhere(await workers.start());
    else if (options.doors !== 'sandboxes') await configured.open({ ...policy().listen, ...options.listen });
    if (configured.identityCa !== null) await agreeOnIdentityCa(configured.identityCa.certificatePem);
  } catch (error) {
    await stop(0);
    throw error;
  }
  live.watch(reportReloads(log, policy));

  const summary: StartSummary = {
    doors: configured.described,
    adminSocket: places.adminSocket,
    caPath: ca.certificatePath,
    config: policy().origin,
    controls: controls(),
    rules: policy().allow.length,
    credentials: secrets.list(),
    warnings: warningsOf(live, ca, configured, workerCount),
    dashboard: page.invite(),
    dashboardProblem: page.problem(),
  };
  const reload = async (): Promise<void> => {
    await live.reload();
    // In force is what is in force in every worker.
    await spreading;
  };
  return { summary, admin: api, reload, stop: () => stop(drainMs) };
}
