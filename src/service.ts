// Puts the gateway together, starts it and stops it: the only file that knows every room. What it says is live, it has
// asked of the parts that run, not of the source.
import { readFileSync } from 'node:fs';
import { createAcceptStage } from './accept/accept-stage.ts';
import { type Ca, openCa } from './accept/ca.ts';
import { Doors } from './accept/doors.ts';
import { LeafMinter } from './accept/leaf.ts';
import { startAdminServer } from './admin/admin-server.ts';
import { createAdminDesk } from './admin-desk.ts';
import { createGithubQuestions } from './ask-github.ts';
import { createAudit } from './audit/audit-stage.ts';
import { Feed } from './audit/feed.ts';
import { Journal } from './audit/journal.ts';
import { Metrics } from './audit/metrics.ts';
import { createAuthorizeStage } from './authorize/authorize-stage.ts';
import type { GithubPorts } from './authorize/github/github-ports.ts';
import { loadGithubTables } from './authorize/github/load-tables.ts';
import { SandboxLimits } from './authorize/limits.ts';
import type { Gateway, StartOptions, StartSummary } from './cli/gateway-port.ts';
import { ConfiguredDoors } from './configured-doors.ts';
import { DockerSandboxes } from './docker-sandboxes.ts';
import { lookupBySystem } from './forward/find-upstream.ts';
import { createForwardStage, type ForwardStage } from './forward/forward-stage.ts';
import { createGitServer } from './git-server.ts';
import { guardedFiles } from './guarded-files.ts';
import { createIdentifyStage } from './identify/identify-stage.ts';
import { SandboxRegistry } from './identify/registry.ts';
import { createFileBackup } from './identify/registry-backup.ts';
import { LfsTicketStore } from './inject/lfs-ticket-store.ts';
import { sealMemory } from './kit/core-dumps.ts';
import { placesIn } from './kit/home.ts';
import { createLog } from './kit/log.ts';
import { packageVersion } from './kit/package-version.ts';
import { ensurePrivateDirectory } from './kit/secure-directory.ts';
import { Spool } from './kit/spool.ts';
import { Sweeper } from './kit/sweeper.ts';
import { describeControls } from './live-controls.ts';
import { NamespaceSandboxes } from './namespace-sandboxes.ts';
import { portsOf } from './open-gateway-doors.ts';
import { LivePolicy } from './policy/live-policy.ts';
import { findConfigFile } from './policy/load-policy.ts';
import { thisMachine } from './policy/machine-files.ts';
import { publishedHome, publishTrust } from './published-trust.ts';
import { admissionPath, requestPath, type Stages } from './request-path.ts';
import { createSecretKeeping } from './secret-keeping.ts';
import { createRequestServer } from './serve-request.ts';

const drainMs = 10_000;
const tablesAfterMs = 1_500;

export async function startGateway(options: StartOptions): Promise<Gateway> {
  // Before any credential is read.
  sealMemory();
  // A broken table must stop the start, not a request. A sandbox that waits for its start has no time for it: there it is
  // read a moment later, and should it be broken, every call of GitHub's is refused.
  if (options.doors !== 'sandboxes') loadGithubTables();
  else setTimeout(loadGithubTables, tablesAfterMs).unref();
  const places = placesIn(options.home);
  const log = options.log ?? createLog();
  const machine = thisMachine();
  const configFile = findConfigFile({ flag: options.config, env: machine.env, cwd: process.cwd(), home: machine.home });
  const live = await LivePolicy.open(configFile, machine, options.judge);
  const policy = () => live.current;

  const { home, runDirectory, sandboxSockets, spoolDirectory } = places;
  for (const directory of [home, runDirectory, sandboxSockets, spoolDirectory]) ensurePrivateDirectory(directory);
  const ca = await openCa(places.caDirectory);
  const leaves = new LeafMinter(ca);
  const instance = `sallyport-${ca.fingerprint.replaceAll(':', '').slice(0, 12).toLowerCase()}`;
  const journal = new Journal({ directory: places.journalDirectory, ...policy().audit, log });
  const lfsTickets = new LfsTicketStore();
  const { secrets, inject, masked } = createSecretKeeping({
    policy,
    forward: () => forward,
    registry: () => registry,
    lfsTickets,
    home: machine.home,
    userKeys: options.userKeys === true,
    log,
  });
  const docker = new DockerSandboxes({
    registry: () => registry,
    policy,
    register: (input) => desk.register(input),
    log,
  });
  const registry: SandboxRegistry = await SandboxRegistry.open({
    backup: createFileBackup(places.registryFile),
    knownCredentials: () => new Set(policy().credentials.keys()),
    socketDirectory: places.sandboxSockets,
    witness: (asked) => docker.resolve(asked),
    onFailure: (error) => log.error('the registry could not be written', { error }),
  });
  const sweeper = new Sweeper();
  const metrics: Metrics = new Metrics({
    openConnections: () => doors.openConnections,
    registeredSandboxes: () => registry.size,
    journal,
  });
  const forward: ForwardStage = createForwardStage(
    {
      policy,
      lookup: lookupBySystem,
      instance,
      environmentRoots: environmentRoots(),
      onDial: (ok) => metrics.countConnect(ok),
    },
    sweeper,
  );
  const spool = new Spool(places.spoolDirectory, () => policy().limits.spoolBytes);
  const github: GithubPorts = {
    openGitServer: createGitServer({ inject, forward, spool }),
    questions: createGithubQuestions({ inject, forward }),
  };
  const stages: Stages = {
    accept: createAcceptStage(instance),
    identify: createIdentifyStage(registry),
    authorize: createAuthorizeStage(policy, new SandboxLimits({ limits: () => policy().limits }), {
      spool,
      ...github,
      lfsTickets,
    }),
    inject,
    forward,
  };
  const audit = createAudit({ journal, metrics, feed: new Feed(), log, clean: masked });
  const requests = createRequestServer({
    path: requestPath(stages),
    admission: admissionPath(stages),
    finish: audit.finish,
    requireJournal: audit.requireJournal,
  });
  const doors = new Doors({
    ports: {
      ...requests,
      confirm: (address) => docker.confirm(address),
      contextFor: (host) => leaves.contextFor(host),
      settings: () => {
        const { headBytes, requestBodyBytes, idleTimeoutMs } = policy().limits;
        return { sweeper, headBytes, requestBodyBytes, idleTimeoutMs, carriesCredential: inject.carriesCredential };
      },
    },
    maxConnections: () => policy().limits.connections,
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
    doors.cut(id);
    forward.drop(id);
    lfsTickets.drop(id);
    secrets.drop(id);
  });
  const publish = async (): Promise<void> => {
    if (options.publish === undefined) return;
    const { githubHosts, gitHosts, credentials } = policy();
    const home = publishedHome(credentials);
    const hosts = new Set([...githubHosts, ...gitHosts]);
    await publishTrust({ folder: options.publish, caPem: ca.certificatePem, gitHosts: [...hosts], home });
  };
  live.onChange((changed) => {
    publish().catch((error: unknown) => log.error('what sandboxes read could not be written', { error }));
    secrets.configure(changed.credentials);
    journal.configure(changed.audit);
    docker.configure();
    doors
      .listenOn(portsOf(changed))
      .catch((error: unknown) => log.error('a port of the policy is not served', { error }));
    // Kept connections were made under the old upstream settings.
    forward.drop(null);
  });

  const { identityCaDirectory } = places;
  const configured = new ConfiguredDoors({ doors, registry, ca, leaves, identityCaDirectory, policy, log });
  const controls = () =>
    describeControls({
      policy: policy(),
      ca,
      journal,
      registry,
      doors: configured.names,
      docker: docker.status(),
      namespaces: doors.namespaces,
      rejected: live.rejected,
      outbound: inject.isGuarded,
      stages,
    });
  const desk = createAdminDesk({
    registry,
    secrets,
    inject,
    github,
    doors,
    namespaces,
    policy,
    configured,
    health: () => ({
      ready: journal.healthy && (configured.isOpen || options.doors === 'sandboxes'),
      version: packageVersion(),
      config: policy().origin,
      doors: configured.names,
      ca: ca.certificatePath,
      sandboxes: registry.size,
      controls: controls(),
      warnings: warningsOf(live, ca, configured),
      guarded: guardedFiles(policy()),
    }),
    metrics: () => metrics.render(),
    journalDirectory: places.journalDirectory,
  });

  const undo: (() => Promise<void> | void)[] = [
    () => sweeper.stop(),
    () => docker.stop(),
    () => namespaces.stop(),
    () => live.stop(),
    () => registry.close(),
    () => journal.close(),
  ];
  const stop = async (graceMs: number): Promise<void> => {
    await doors.drain(graceMs);
    await secrets.close();
    forward.drop(null);
    for (const step of undo) await step();
  };
  try {
    // Before any door: who finds one open finds the certificate too.
    await publish();
    const admin = await startAdminServer({
      socketPath: places.adminSocket,
      ports: desk,
      onFault: (what, error) => log.error(what, { error }),
    });
    undo.unshift(() => admin.close());
    for (const record of registry.list()) {
      if (record.socketPath !== null) await doors.openPrivate(record.id, record.socketPath);
    }
    docker.start();
    if (options.doors !== 'sandboxes') await configured.open({ ...policy().listen, ...options.listen });
  } catch (error) {
    await stop(0);
    throw error;
  }
  live.watch((error) => {
    if (error === null) log.info('the configuration has changed and is in force', { config: policy().origin });
    else log.error('the configuration has changed but is not valid: the old one stays in force', { error });
  });

  const summary: StartSummary = {
    doors: configured.described,
    adminSocket: places.adminSocket,
    caPath: ca.certificatePath,
    config: policy().origin,
    controls: controls(),
    hosts: policy().allow.length,
    credentials: secrets.list(),
    warnings: warningsOf(live, ca, configured),
  };
  return { summary, desk, reload: () => live.reload(), stop: () => stop(drainMs) };
}

function warningsOf(live: LivePolicy, ca: Ca, { identityCa }: ConfiguredDoors): string[] {
  const rejected = live.rejected === null ? [] : [`the configuration file is not in force: ${live.rejected.message}`];
  return [...rejected, ...live.current.warnings, ...ca.warnings, ...(identityCa?.warnings ?? [])];
}

/** Node adds these roots by itself only where no others are given; ours are always given. */
function environmentRoots(): string[] {
  const path = process.env.NODE_EXTRA_CA_CERTS;
  if (path === undefined || path === '') return [];
  try {
    return [readFileSync(path, 'utf8')];
  } catch {
    return [];
  }
}
