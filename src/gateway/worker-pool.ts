// The workers of a gateway, as its own process has them: forks and supervises them, answers what they ask, tells them what
// must hold in all of them, and takes the records of what
// they refuse. This process serves no sandbox itself, and no request that is served passes it.

import { callerAddress } from '../kit/canonical-address.ts';
import type { Log } from '../kit/text/log.ts';
import { waitAtMost } from '../kit/wait-at-most.ts';
import type { ApprovalSet, Asking, InsideApi } from '../path/approvals.ts';
import type { SharedStore } from '../path/shared-store.ts';
import { privateSocketMode } from '../stages/accept/doors/doors.ts';
import type { Audit } from '../stages/audit/audit-stage.ts';
import { readCounts } from '../stages/audit/carried-counts.ts';
import type { Feed } from '../stages/audit/feed.ts';
import type { Journal } from '../stages/audit/journal/journal.ts';
import type { JournalShares } from '../stages/audit/journal/journal-shares.ts';
import { readRecord } from '../stages/audit/journal/read-record.ts';
import { workerNote } from '../stages/audit/journal/worker-notes.ts';
import type { Metrics } from '../stages/audit/metrics.ts';
import type { SandboxRegistry } from '../stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../stages/identify/registry/sandbox-record.ts';
import type { KnownSecrets } from '../stages/inject/scrub/known-secrets.ts';
import { carryKnown, noteCarried, tellOfNew, valuesSetByHand } from '../stages/inject/secret-handover.ts';
import type { SecretStore } from '../stages/inject/secret-store.ts';
import type { DockerSandboxes } from './sandboxes/docker-sandboxes.ts';
import { createApprovalsServer } from './workers/approvals-server.ts';
import { type ForkedWorker, forkWorker } from './workers/fork-worker.ts';
import { NotedJournals } from './workers/noted-journals.ts';
import { PrivateSockets } from './workers/private-sockets.ts';
import { RecalledLeases } from './workers/recalled-leases.ts';
import type { SeenByPolicy } from './workers/recorded-machine.ts';
import { ServingWorkers } from './workers/serving-workers.ts';
import type { Follower, SharedRegistrations } from './workers/shared-registrations.ts';
import { createStoreServer } from './workers/store-server.ts';
import { Supervisor } from './workers/supervise.ts';
import {
  awayFor,
  type Beat,
  type JournalHealth,
  listenOf,
  type OpenDoors,
  type Served,
  type ToPrimary,
  type WorkerJournalState,
  type WorkerStart,
} from './workers/worker-verbs.ts';

export interface WorkerPoolOptions {
  readonly count: number;
  readonly entry: string;
  readonly env: NodeJS.ProcessEnv;
  /** What is the same for every worker at any time. */
  readonly start: Pick<WorkerStart, 'home' | 'config' | 'listen' | 'userKeys' | 'gatewayName'>;
  readonly seen: SeenByPolicy;
  readonly log: Log;
}

/** What workers are served with. */
export interface WorkerServices {
  readonly store: SharedStore;
  readonly registrations: SharedRegistrations;
  readonly registry: SandboxRegistry;
  readonly docker: Pick<DockerSandboxes, 'confirm'>;
  readonly journal: Journal;
  readonly shares: JournalShares;
  readonly audit: Pick<Audit, 'take' | 'show'>;
  readonly feed: Pick<Feed, 'size' | 'onWatched'>;
  readonly metrics: Pick<Metrics, 'add' | 'countConnect' | 'countUnrecorded'>;
  readonly secrets: SecretStore;
  readonly known: KnownSecrets;
  /** Whom workers ask, and what was approved so far. */
  readonly people: {
    readonly asking: Asking;
    readonly inside: InsideApi;
    readonly approvals: { readonly set: ApprovalSet };
  };
}

/** A worker that serves has a policy or a credential in force much sooner. */
const inForceWithinMs = 10_000;
const gatheredWithinMs = 1_000;

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #supervisor: Supervisor;
  readonly #lives = new Set<ForkedWorker>();
  readonly #serving: ServingWorkers;
  readonly #sockets: PrivateSockets;
  #seen: SeenByPolicy;
  #doors: OpenDoors | null = null;
  /** What each worker has to open. All alike: node:cluster knows a socket that is shared by how it was asked for. */
  readonly #listens = new Map<ForkedWorker, WorkerStart['listen']>();
  readonly #leases = new RecalledLeases();

  /** Has no worker until it is started: what must hold in all of them holds then in none. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#seen = options.seen;
    const { count, log } = options;
    this.#serving = new ServingWorkers(({ pid }) => log.error('a worker does not answer: it is ended', { pid }));
    this.#sockets = new PrivateSockets(privateSocketMode, this.#serving.takers);
    this.#supervisor = new Supervisor({ count, log });
  }

  get live(): number {
    return this.#supervisor.live;
  }

  get openConnections(): number {
    return this.#serving.openConnections;
  }

  get openCircuits(): number {
    return this.#serving.openCircuits;
  }

  get journals(): readonly WorkerJournalState[] {
    return this.#serving.journals;
  }

  /** Resolves when what workers have served is counted here, or soon: nobody waits for one that does not answer. */
  async gather(): Promise<void> {
    const answers = [...this.#lives].map(({ channel }) => channel.ask('report', null).catch(() => null));
    await waitAtMost(Promise.all(answers), gatheredWithinMs, () => []);
  }

  /** For people. */
  describe(): string {
    return this.#supervisor.describe();
  }

  /** Resolves when all serve, with the doors that are open. */
  async start(services: WorkerServices): Promise<OpenDoors> {
    this.#follow(services);
    await this.#supervisor.start((worker) => this.#fork(worker, services));
    return this.#doors!;
  }

  /** From now on workers hear what changes here. */
  #follow({ journal, shares, feed, store, registry, known }: WorkerServices): void {
    feed.onWatched = () => this.#tellAll('watched', feed.size > 0);
    const tellHealth = (): void => this.#tellAll('journal', healthOf(journal, shares));
    journal.onChange = tellHealth;
    shares.onChange = tellHealth;
    store.onAway((away) => this.#tellAll('away', { away: awayFor(away), identified: registry.identified }));
    tellOfNew(known, (secrets) => this.#tellAll('known', secrets));
    for (const record of registry.list()) this.#watchConfirmed(record);
    registry.onRegistered((record) => {
      this.#watchConfirmed(record);
      if (record.containerId !== null) this.#tellAll('confirmed', { id: record.id, confirmed: record.confirmed });
    });
  }

  stop(graceMs: number): Promise<void> {
    this.#sockets.closeAll();
    this.#serving.stop();
    return this.#supervisor.stop(graceMs);
  }

  /** Resolves when every worker has it. One that cannot take it is ended: another begins with what is in force. */
  async policyChanged(seen: SeenByPolicy): Promise<void> {
    this.#seen = seen;
    await this.#askAll((life) => life.channel.ask('policy', seen));
  }

  /** A value set by hand, or (null) removed. Resolves when every worker has it. */
  async secretChanged(name: string, value: string | null): Promise<void> {
    await this.#askAll((life) => life.channel.ask('secret', { name, value }));
  }

  /** Resolves when it is in force in every worker: what was withdrawn lets nothing pass any more. */
  async approvalsChanged(set: ApprovalSet): Promise<void> {
    await this.#askAll((life) => life.channel.ask('approvals', set));
  }

  openPrivate(sandboxId: string, path: string): Promise<void> {
    return this.#sockets.open(sandboxId, path);
  }

  cut(sandboxId: string): void {
    this.#sockets.close(sandboxId);
  }

  #watchConfirmed(record: SandboxRecord): void {
    if (record.containerId === null) return;
    record.onConfirmed = (confirmed) => this.#tellAll('confirmed', { id: record.id, confirmed });
  }

  #fork(worker: number, services: WorkerServices): ForkedWorker {
    const { entry, env, log } = this.#options;
    const { registrations, store, registry, docker, known, people } = services;
    const life = forkWorker({ entry, env });
    const key = {};
    let unfollow = (): void => {};
    const follower: Follower = {
      name: `worker ${worker}`,
      changed: (change) => life.channel.ask('changed', change),
      end: () => {
        log.error('a worker did not let go of a sandbox that is unregistered: it is ended', { worker });
        life.kill();
        return life.ended;
      },
    };
    const server = createStoreServer({
      store,
      registrations,
      worker: key,
      mayRegister: false,
      leases: this.#leases,
      recall: (lease, kind) => life.channel.ask('recall', { key: lease, kind }),
    });
    const noted = this.#notedJournals(services);
    const isRegistered = (sandbox: string): boolean => registry.lookUpId(sandbox) !== undefined;
    const approvalsServer = createApprovalsServer({ ...people, isRegistered });
    life.answer({
      onReady: (doors) => {
        this.#doors ??= doors;
        this.#serving.add(life);
      },
      onNonsense: (error) => log.error('a worker said what no worker says: it is ended', { worker, error }),
      handlers: {
        ...server.handlers,
        ...approvalsServer.handlers,
        begin: () => {
          // Not sooner: until it can hear, it has nothing to let go of.
          unfollow = registrations.follow(key, follower);
          return this.#startOf(worker, life, services);
        },
        beat: (beat) => {
          noted.heard(life, worker, beat.journal);
          return this.#count(life, beat, services);
        },
        served: (served) => {
          try {
            return takeServed(served, services);
          } catch (error) {
            log.error('a worker handed in counts that are none: it is ended', { worker, error });
            life.kill();
            throw error;
          }
        },
        shown: ({ seq, record }) => {
          services.audit.show(seq, readRecord(record));
          return null;
        },
        records: (records) => {
          try {
            return takeRecords(records, services);
          } catch (error) {
            log.error('a worker handed in a record that is none: it is ended', { worker, error });
            life.kill();
            throw error;
          }
        },
        allConfirmed: () =>
          registry.list().flatMap(({ id, containerId, confirmed }) => (containerId !== null && confirmed ? [id] : [])),
        confirm: async ({ address }) => {
          await docker.confirm(address);
          const record = registry.lookUpAddress(callerAddress(address) ?? '');
          return record === undefined ? null : { id: record.id, confirmed: record.confirmed };
        },
        known: (carried) => {
          noteCarried(known, carried);
          for (const other of this.#lives) if (other !== life) other.channel.tell('known', carried);
          return null;
        },
      },
    });
    this.#lives.add(life);
    void life.ended.then(() => {
      unfollow();
      server.gone();
      approvalsServer.gone();
      this.#lives.delete(life);
      this.#serving.delete(life);
      this.#listens.delete(life);
    });
    return life;
  }

  #notedJournals({ journal }: WorkerServices): NotedJournals {
    return new NotedJournals({
      note(worker, head, how) {
        // A journal that is broken takes nothing, and then nothing is served.
        if (journal.state.kind === 'broken') return;
        journal.append(workerNote(worker, head, how));
      },
    });
  }

  #startOf(worker: number, life: ForkedWorker, services: WorkerServices): WorkerStart {
    const { count, start } = this.#options;
    const { store, registry, journal, shares, feed, secrets, known, people } = services;
    // When none is left, the very doors that were open, also where any port would have done.
    const [open = this.#doors === null ? start.listen : listenOf(this.#doors)] = this.#listens.values();
    this.#listens.set(life, open);
    return {
      ...start,
      listen: open,
      worker,
      workers: count,
      seen: this.#seen,
      store: { name: store.name, away: awayFor(store.away), gateways: store.gateways },
      identified: registry.identified,
      journal: healthOf(journal, shares),
      secrets: valuesSetByHand(secrets),
      known: carryKnown(known),
      approvals: people.approvals.set,
      watched: feed.size > 0,
    };
  }

  #count(life: ForkedWorker, beat: Beat, { metrics, store, journal }: WorkerServices): ToPrimary['beat']['answer'] {
    this.#serving.noteBeat(life, beat);
    for (let i = 0; i < beat.dialsOk; i++) metrics.countConnect(true);
    for (let i = 0; i < beat.dialsFailed; i++) metrics.countConnect(false);
    for (let i = 0; i < beat.unrecorded; i++) metrics.countUnrecorded();
    journal.noteLost(beat.lost);
    return { gateways: store.gateways };
  }

  readonly #tellAll: ForkedWorker['channel']['tell'] = (verb, body) => {
    for (const { channel } of this.#lives) channel.tell(verb, body);
  };

  /** A worker that cannot do what it is asked must not go on serving. */
  async #askAll(ask: (life: ForkedWorker) => Promise<unknown>): Promise<void> {
    const { log } = this.#options;
    await Promise.all(
      [...this.#lives].map(async (life) => {
        try {
          // One that begins has its time to do so, and asks then what is in force.
          const answer = ask(life).then(() => true);
          if (await (this.#serving.has(life) ? waitAtMost(answer, inForceWithinMs, () => false) : answer)) return;
          throw new Error(`it did not answer within ${inForceWithinMs / 1000} seconds`);
        } catch (error) {
          if (life.channel.isClosed) return;
          log.error('a worker could not take over what is in force: it is ended', { pid: life.pid, error });
          life.kill();
          await life.ended;
        }
      }),
    );
  }
}

function takeRecords(records: readonly unknown[], { audit, secrets, registry, store }: WorkerServices): null {
  // All are looked at first: a worker that sends one that is none is not believed in the others either.
  for (const record of records.map(readRecord)) {
    audit.take(record);
    if (record.credential !== null) secrets.noteUse(record.credential);
    // With a proof: it was identified.
    if (store.away === null && record.sandbox !== null && record.proof.length > 0)
      registry.noteIdentified(record.sandbox);
  }
  return null;
}

function takeServed({ counts, sandboxes, credentials }: Served, services: WorkerServices): null {
  const { metrics, secrets, registry, shares, store } = services;
  metrics.add(readCounts(counts));
  for (const [sandbox, bytes, identified] of sandboxes) {
    shares.spendServed(sandbox, bytes);
    if (identified && store.away === null) registry.noteIdentified(sandbox);
  }
  for (const credential of credentials) secrets.noteUse(credential);
  return null;
}

function healthOf({ healthy, state }: Journal, { over }: JournalShares): JournalHealth {
  return { healthy, reason: 'reason' in state ? state.reason : '', over };
}
