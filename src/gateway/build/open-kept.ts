// The first step of a start: opens what outlives a request. That is the policy, the CA, the journal, the store and the
// registrations in it. Serves nobody. If one of them cannot be opened, those before it are closed again.

import { type Places, placesIn } from '../../kit/files/home.ts';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';
import { sealMemory } from '../../kit/process/core-dumps.ts';
import { createLog, type Log } from '../../kit/text/log.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { LivePolicy } from '../../policy/load/live-policy.ts';
import { type Ca, openCa } from '../../stages/accept/tls/ca.ts';
import { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import { type FoundPolicy, findPolicy } from '../config/find-policy.ts';
import { followOnlyTheUsers } from '../config/followed-config.ts';
import type { StartOptions } from '../contract.ts';
import { RecordedMachine } from '../workers/recorded-machine.ts';
import { SharedRegistrations } from '../workers/shared-registrations.ts';
import { loadTablesFor } from './built-in-tables.ts';
import { openRecords, type Records } from './open-records.ts';
import { type OpenedStore, openStore } from './open-store.ts';

export interface KeptState extends FoundPolicy {
  readonly log: Log;
  readonly places: Places;
  readonly live: LivePolicy;
  readonly policy: () => CompiledPolicy;
  /** What the policy has seen of the machine, for workers. */
  readonly recorded: RecordedMachine;
  /** The variables that this process was started with, before a credential was taken out of them. */
  readonly startedWith: NodeJS.ProcessEnv;
  /** How many processes serve; 1: this one does. */
  readonly processes: number;
  readonly ca: Ca;
  readonly records: Records;
  readonly opened: OpenedStore;
  /** The settings that the store was opened with. */
  readonly openedWith: CompiledPolicy['store'];
  /** The registrations as workers share them; null: there are no workers. */
  readonly shared: SharedRegistrations | null;
  readonly registry: SandboxRegistry;
  /** May be called again. */
  close(): Promise<void>;
}

export async function openKept(options: StartOptions): Promise<KeptState> {
  // Workers start with these variables, so they are copied before a credential is taken out.
  const startedWith = { ...process.env };
  // Before any credential is read.
  if (options.guest !== true) sealMemory();
  loadTablesFor(options.doors);
  const places = placesIn(options.home);
  const log = options.log ?? createLog();
  const found = findPolicy(options);
  const recorded = new RecordedMachine(found.machine);
  const live = await LivePolicy.open(
    found.configFile,
    options.workerEntry === undefined ? found.machine : recorded,
    options.judge,
    followOnlyTheUsers(options, found.configFile),
  );
  const policy = (): CompiledPolicy => live.current;
  const processes = options.workerEntry === undefined || options.doors === 'sandboxes' ? 1 : policy().listen.workers;
  const { home, runDirectory, sandboxSockets, spoolDirectory } = places;
  for (const directory of [home, runDirectory, sandboxSockets, spoolDirectory]) ensurePrivateDirectory(directory);
  const ca = await openCa(places.caDirectory);
  const records = openRecords(places.journalDirectory, policy, processes, log);
  const openedWith = policy().store;
  let opened: OpenedStore | null = null;
  try {
    opened = await openStore({ policy, ca, places, log });
    const shared = processes > 1 ? new SharedRegistrations(opened.store.registrations) : null;
    const registry = await openRegistry({ policy, opened, shared, places, log });
    const close = closing(live, registry, opened, records);
    const kept = { log, places, live, policy, recorded, startedWith, processes, ca, records, openedWith };
    return { ...found, ...kept, opened, shared, registry, close };
  } catch (error) {
    await opened?.close();
    records.close();
    throw error;
  }
}

function openRegistry({
  policy,
  opened: { store, sharing },
  shared,
  places,
  log,
}: Pick<KeptState, 'policy' | 'opened' | 'shared' | 'places' | 'log'>): Promise<SandboxRegistry> {
  return SandboxRegistry.open({
    store: shared === null ? store : shared.within(store),
    ...(sharing !== null && { sharing }),
    knownCredentials: () => new Set(policy().credentials.keys()),
    socketDirectory: places.sandboxSockets,
    onFailure: (error) => log.error('the registry could not be written', { error }),
  });
}

/** The journal last: what the others do until their end is written down. */
function closing(
  live: LivePolicy,
  registry: SandboxRegistry,
  opened: OpenedStore,
  records: Records,
): () => Promise<void> {
  const close = async (): Promise<void> => {
    live.stop();
    registry.close();
    await opened.close();
    records.close();
  };
  let closed: Promise<void> | null = null;
  return () => {
    closed ??= close();
    return closed;
  };
}
