// One worker of a gateway: serves the doors with the same path as any gateway, and owns nothing but the journal of what it has
// served. Registrations, limits, what was refused and what Docker says are those of the process that has started it; when that is
// gone, so is this one, at once.
import type { Socket } from 'node:net';
import { callerAddress } from '../kit/canonical-address.ts';
import { placesIn } from '../kit/files/home.ts';
import { sealMemory } from '../kit/process/core-dumps.ts';
import { giveBackMemory } from '../kit/process/give-back-memory.ts';
import { createLog } from '../kit/text/log.ts';
import { LivePolicy } from '../policy/load/live-policy.ts';
import { thisMachine } from '../policy/load/machine-files.ts';
import { openCa } from '../stages/accept/tls/ca.ts';
import { SandboxRegistry } from '../stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../stages/identify/registry/sandbox-record.ts';
import { noteCarried, tellOfNew } from '../stages/inject/secret-handover.ts';
import { ApprovalsInForce } from './approvals/approvals-in-force.ts';
import { loadTables } from './build/built-in-tables.ts';
import { ConfiguredDoors } from './build/configured-doors.ts';
import { createGatewayCore, type GatewayCore } from './build/gateway-core.ts';
import { portsOf } from './build/open-gateway-doors.ts';
import { sharingOf } from './build/open-store.ts';
import { WorkerRecords } from './build/worker-records.ts';
import { createApprovalsRelay } from './workers/approvals-relay.ts';
import { Channel, type ChannelEnd, type Handlers } from './workers/channel.ts';
import { Heartbeat } from './workers/heartbeat.ts';
import { createIpcStore, type IpcStore } from './workers/ipc-store.ts';
import { JournalRelay } from './workers/journal-relay.ts';
import { ReplayedMachine } from './workers/recorded-machine.ts';
import type { ToPrimary, ToWorker, WorkerStart } from './workers/worker-verbs.ts';

type ToParent = Channel<ToPrimary, ToWorker>;

/** What there is before the parts are built: the primary may speak of it at once. */
interface Begun {
  store: IpcStore | null;
  records: WorkerRecords | null;
  readonly approvals: ApprovalsInForce;
  /** They were changed since the worker began. */
  hasNewerApprovals: boolean;
}

interface Built {
  readonly core: GatewayCore;
  readonly live: LivePolicy;
  readonly machine: ReplayedMachine;
  readonly registry: SandboxRegistry;
  readonly relay: JournalRelay;
  readonly records: WorkerRecords;
  /** Says how this process does, and what was written since. */
  readonly beat: () => Promise<unknown>;
  readonly configured: ConfiguredDoors;
}

/** Resolves when it has let its requests end and handed in all its records. */
export async function runWorker(): Promise<void> {
  sealMemory();
  const begun: Begun = { store: null, records: null, approvals: new ApprovalsInForce(), hasNewerApprovals: false };
  endWithParent(begun);
  const built = promised<Built>();
  const drained = promised<void>();
  const channel: ToParent = new Channel(parentEnd());
  channel.answer({
    onNonsense: (error) => {
      throw error;
    },
    handlers: answersFrom(begun, built.promise, drained.resolve),
  });
  try {
    const start = await channel.ask('begin', null);
    const store = createIpcStore(channel, { ...start.store, workers: start.workers });
    begun.store = store;
    if (!begun.hasNewerApprovals) begun.approvals.replace(start.approvals);
    const parts = await build(channel, store, start, begun.approvals);
    begun.records = parts.records;
    built.resolve(parts);
    giveBackMemory();
    await serve(channel, start, parts);
  } catch (error) {
    // The primary tells the operator.
    await channel.ask('failed', { message: error instanceof Error ? error.message : String(error) }).catch(() => {});
    process.exit(1);
  }
  await drained.promise;
  process.exit(0);
}

/** What the primary says. What concerns the parts waits until they are built, in order. */
function answersFrom(begun: Begun, built: Promise<Built>, drained: () => void): Handlers<ToWorker> {
  return {
    changed(change) {
      // At once: a sandbox that is gone is cut before this is answered.
      begun.store?.changed(change);
      return null;
    },
    recall: ({ key, kind }) => begun.store?.recall(key, kind) ?? 0,
    away: async ({ away, identified }) => {
      const { registry } = await built;
      begun.store?.setAway(away);
      for (const id of identified) registry.noteIdentified(id);
      return null;
    },
    policy: async (seen) => {
      const { live, machine } = await built;
      machine.show(seen);
      await live.reload();
      return null;
    },
    confirmed: async ({ id, confirmed }) => {
      const record = (await built).registry.lookUpId(id);
      if (record !== undefined) record.confirmed = confirmed;
      return null;
    },
    journal: async (health) => {
      (await built).relay.setHealth(health);
      return null;
    },
    watched: async (watched) => {
      (await built).records.setWatched(watched);
      return null;
    },
    report: async () => {
      await (await built).records.report();
      return null;
    },
    secret: async ({ name, value }) => {
      const { secrets } = (await built).core;
      if (value === null) secrets.remove(name);
      else secrets.set(name, value);
      return null;
    },
    known: async (carried) => {
      noteCarried((await built).core.known, carried);
      return null;
    },
    connection: async ({ sandboxId }, socket) => {
      if (socket !== null) (await built).core.doors.takePrivate(sandboxId, socket);
      return null;
    },
    approvals(set) {
      begun.hasNewerApprovals = true;
      begun.approvals.replace(set);
      return null;
    },
    drain: async ({ graceMs }) => {
      const { core, relay, records, beat } = await built;
      await core.drain(graceMs);
      // The requests that were cut off are written down when their sockets have closed.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await relay.settled();
      await records.close();
      await beat();
      await begun.store?.close();
      drained();
      return null;
    },
  };
}

async function build(
  channel: ToParent,
  store: IpcStore,
  start: WorkerStart,
  approvals: ApprovalsInForce,
): Promise<Built> {
  loadTables();
  const log = createLog().child({ worker: start.worker });
  const places = placesIn(start.home);
  const machine = new ReplayedMachine({ ...thisMachine(), registryLogins: start.userKeys }, start.seen);
  const live = await LivePolicy.open(start.config, machine);
  const policy = () => live.current;
  const ca = await openCa(places.caDirectory);
  const registry = await SandboxRegistry.open({
    store,
    ...(start.gatewayName !== null && { sharing: sharingOf(start.gatewayName, policy) }),
    knownCredentials: () => new Set(policy().credentials.keys()),
    socketDirectory: places.sandboxSockets,
    onFailure: (error) => log.error('a change of a registration could not be reported', { error }),
  });
  for (const id of start.identified) registry.noteIdentified(id);
  const counts = { dialsOk: 0, dialsFailed: 0, unrecorded: 0 };
  const beat = new Heartbeat();
  const relay = new JournalRelay({
    send: (records) => channel.ask('records', records),
    health: start.journal,
    isSilent: beat.isSilent,
  });
  const records = await WorkerRecords.open({
    journalDirectory: places.journalDirectory,
    worker: start.worker,
    workers: start.workers,
    policy,
    relay,
    channel,
    watched: start.watched,
    log,
  });
  const core = createGatewayCore({
    policy,
    ca,
    registry,
    store,
    journalWaitMs: (sandboxId) => relay.waitMs(sandboxId),
    meters: store.meters,
    ...(start.gatewayName !== null && { gatewayName: start.gatewayName }),
    // Counted and shown by whoever writes it down.
    records: {
      ...records.parts,
      metrics: { count: () => {}, countUnrecorded: () => counts.unrecorded++ },
      feed: { publish: () => {} },
    },
    onDial: (succeeded) => {
      if (succeeded) counts.dialsOk++;
      else counts.dialsFailed++;
    },
    confirm: confirmBy(channel, registry),
    ...createApprovalsRelay({ channel, flushRecords: () => relay.flush() }),
    approvals,
    spoolDirectory: places.spoolDirectory,
    processes: start.workers,
    home: machine.home,
    env: process.env,
    userKeys: start.userKeys,
    log,
  });
  const { doors, forward, leaves } = core;
  const report = async (): Promise<void> => {
    const { openConnections } = doors;
    const { openCircuits } = forward;
    const said = { ...counts, openConnections, openCircuits, lost: records.takeLost(), journal: records.state };
    counts.dialsOk = counts.dialsFailed = counts.unrecorded = 0;
    const { gateways } = await channel.ask('beat', said);
    store.setGateways(gateways);
  };
  beat.start(report);
  records.onChange(() => beat.beat(report));
  noteCarried(core.known, start.known);
  for (const [name, value] of start.secrets) core.secrets.set(name, value);
  tellOfNew(core.known, (secrets) => channel.tell('known', secrets));
  registry.onRemoved((id) => {
    core.drop(id);
    records.drop(id);
  });
  live.onChange((changed) => {
    core.configure(changed);
    records.configure();
    doors
      .listenOn(portsOf(changed))
      .catch((error: unknown) => log.error('a port of the policy is not served', { error }));
  });
  const { identityCaDirectory } = places;
  // A worker leads nobody to the host: sandboxes with a namespace are served by the gateway's own process.
  const reserved = { note: () => {} };
  const configured = new ConfiguredDoors({ doors, registry, ca, leaves, identityCaDirectory, policy, reserved, log });
  return { core, live, machine, registry, relay, records, beat: report, configured };
}

async function serve(channel: ToParent, start: WorkerStart, built: Built): Promise<void> {
  const { live, registry, configured } = built;
  // Before a door: what it writes from now on continues a journal that the gateway's own knows of.
  await built.beat();
  for (const id of await channel.ask('allConfirmed', null)) {
    const record = registry.lookUpId(id);
    if (record !== undefined) record.confirmed = true;
  }
  await configured.open({ ...live.current.listen, ...start.listen });
  channel.tell('ready', configured.byKind);
}

/** The primary asks Docker; it reports what Docker said of a sandbox since its first traffic. */
function confirmBy(channel: ToParent, registry: SandboxRegistry): (address: string) => Promise<void> | null {
  const met = new WeakSet<SandboxRecord>();
  return (address) => {
    const record = registry.lookUpAddress(callerAddress(address) ?? '');
    if (record === undefined || record.containerId === null) return null;
    if (record.confirmed && met.has(record)) return null;
    return channel.ask('confirm', { address }).then(
      (said) => {
        if (said?.id === record.id) record.confirmed = said.confirmed;
        if (record.confirmed) met.add(record);
      },
      () => {},
    );
  };
}

/** A door must not stay open when nobody keeps the journal. */
function endWithParent(begun: Begun): void {
  process.on('disconnect', () => {
    begun.records?.flush();
    process.exit(1);
  });
  // They go to the whole group or unit: when to end is for the other process to say.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
}

function parentEnd(): ChannelEnd {
  return {
    send: (message) => {
      process.send?.(message);
    },
    onMessage: (listener) => {
      process.on('message', (message: unknown, handle: unknown) => listener(message, (handle as Socket) ?? null));
    },
  };
}

/** A promise that is kept by somebody else, later. */
function promised<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((kept) => {
    resolve = kept;
  });
  return { promise, resolve };
}
