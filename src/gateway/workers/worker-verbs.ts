// Everything that the gateway's own process and a worker of it can say to each other. A worker is in the same trust domain:
// it holds credentials and serves sandboxes. All the same it can ask for no more than this: use the meters, tallies, locks
// and the vault, end or prolong a registration, hand in records, ask people on behalf of a sandbox. It cannot register a sandbox, read another's secret hash
// than those it must match, set a credential, or write into the journal of the gateway but by records.
import type {
  AccessRequest,
  ApprovalSet,
  Asked,
  ReportedAccessRequest,
  ReportedRefusal,
  Verdict,
} from '../../path/approvals.ts';
import type {
  ClaimTaken,
  MeterRate,
  RegistrationChange,
  StoreAway,
  StoredRegistration,
} from '../../path/shared-store.ts';
import type { ListenAddress, ListenSettings } from '../../policy/compiled.ts';
import type { Drawn } from '../store/quota-source.ts';
import type { LeaseKind } from './recalled-leases.ts';
import type { SeenByPolicy } from './recorded-machine.ts';

type Verb<Body, Answer = null> = { readonly body: Body; readonly answer: Answer };

/** A credential value on its way to another process of this gateway; made and read in `inject/` alone. */
export interface CarriedSecret {
  readonly name: string;
  readonly value: string;
  readonly login: boolean;
  readonly expiresAtMs: number | null;
}

export interface OpenDoors {
  readonly proxies: readonly string[];
  readonly mtls: readonly string[];
  readonly gateways: readonly string[];
}

/** What one worker has done since its last report. */
export interface Beat {
  readonly openConnections: number;
  readonly openCircuits: number;
  readonly dialsOk: number;
  readonly dialsFailed: number;
  readonly unrecorded: number;
  /** Those of them that the gateway's own journal must say are missing. */
  readonly lost: number;
  readonly journal: WorkerJournalState;
}

/** The journal of one worker, as it stands. */
export interface WorkerJournalState {
  readonly healthy: boolean;
  /** Why it is not. */
  readonly reason: string;
  /** Of the last record. */
  readonly seq: number;
  readonly queued: number;
  readonly files: number;
  /** From 1, all of its room, to 0, none. */
  readonly room: number;
  /** The last record that is on the disk for sure. Null: nobody knows yet. */
  readonly head: { readonly seq: number; readonly hash: string } | null;
  readonly closed: boolean;
}

/** What one worker has served and written down since it last said so. */
export interface Served {
  /** Read by the audit room, which knows them. */
  readonly counts: unknown;
  /** By sandbox: how many bytes its records took, and whether it has proven itself. */
  readonly sandboxes: readonly (readonly [sandbox: string, bytes: number, identified: boolean])[];
  /** Which were used. */
  readonly credentials: readonly string[];
}

export interface JournalHealth {
  readonly healthy: boolean;
  readonly reason: string;
  /** Sandboxes that have written their share, and how long they must wait. */
  readonly over: readonly (readonly [sandbox: string, waitMs: number])[];
}

/** What a worker needs to begin. */
export interface WorkerStart {
  readonly worker: number;
  readonly workers: number;
  readonly home: string;
  readonly config: string | null;
  readonly seen: SeenByPolicy;
  readonly listen: Partial<ListenSettings>;
  readonly userKeys: boolean;
  /** The name of this gateway among those that share a store; null: it is the only one. */
  readonly gatewayName: string | null;
  readonly store: { readonly name: string; readonly away: AwayFor | null; readonly gateways: number };
  readonly identified: readonly string[];
  readonly journal: JournalHealth;
  /** Values that were set by hand. */
  readonly secrets: readonly (readonly [name: string, value: string])[];
  readonly known: readonly CarriedSecret[];
  /** What people have approved so far. */
  readonly approvals: ApprovalSet;
  /** Somebody watches what is served. */
  readonly watched: boolean;
}

/** As `StoreAway`, without a clock: those of two processes differ. */
export interface AwayFor {
  readonly forMs: number;
  readonly reason: string;
}

/** What the primary says. */
export type ToWorker = {
  /** Another policy is in force. Answered when it is in force there too. */
  readonly policy: Verb<SeenByPolicy>;
  /** Answered when it is done: connections are cut. */
  readonly changed: Verb<RegistrationChange>;
  readonly confirmed: Verb<{ readonly id: string; readonly confirmed: boolean }>;
  /** `identified`: whom this gateway vouches for meanwhile, whichever worker has met them. */
  readonly away: Verb<{ readonly away: AwayFor | null; readonly identified: readonly string[] }>;
  readonly journal: Verb<JournalHealth>;
  /** Whether somebody watches: then each record is shown as it is written. */
  readonly watched: Verb<boolean>;
  /** It says what it has served up to now, before it answers. */
  readonly report: Verb<null>;
  /** A value set by hand; null: removed. */
  readonly secret: Verb<{ readonly name: string; readonly value: string | null }>;
  readonly known: Verb<readonly CarriedSecret[]>;
  /** With a connection that came through the socket of this sandbox. */
  readonly connection: Verb<{ readonly sandboxId: string }>;
  /** Another worker asks in vain for what this one has in hand. */
  readonly recall: Verb<{ readonly key: string; readonly kind: LeaseKind }, number>;
  /** All that people have approved, as it is from now on. Answered when it is in force there. */
  readonly approvals: Verb<ApprovalSet>;
  readonly drain: Verb<{ readonly graceMs: number }>;
};

/** What a worker says. */
export type ToPrimary = {
  /** It is there, and asks what to do. */
  readonly begin: Verb<null, WorkerStart>;
  readonly ready: Verb<OpenDoors>;
  /** It cannot serve, and ends. */
  readonly failed: Verb<{ readonly message: string }>;
  readonly beat: Verb<Beat, { readonly gateways: number }>;
  /** What was not served. Answered when the gateway's own journal has taken them. */
  readonly records: Verb<readonly unknown[]>;
  readonly served: Verb<Served>;
  /** A record of its own journal, for whoever watches and for the page inside the sandbox. */
  readonly shown: Verb<{ readonly seq: number; readonly record: unknown }>;
  /** The ids of containers that Docker has confirmed. */
  readonly allConfirmed: Verb<null, readonly string[]>;
  readonly confirm: Verb<{ readonly address: string }, { readonly id: string; readonly confirmed: boolean } | null>;
  readonly known: Verb<readonly CarriedSecret[]>;
} & StoreVerbs &
  ApprovalVerbs;

/** What a worker asks of people, for one of its sandboxes. */
export type ApprovalVerbs = {
  /** Answered when a person has, or nobody did in time. `number`: the worker's own, to withdraw it by. */
  readonly ask: Verb<{ readonly number: number; readonly asked: Asked }, Verdict>;
  /** Its client has left. */
  readonly withdrawQuestion: Verb<{ readonly number: number }>;
  readonly refusalsOf: Verb<OfSandbox, readonly ReportedRefusal[]>;
  readonly accessRequest: Verb<
    OfSandbox & { readonly accessRequest: AccessRequest },
    ReportedAccessRequest | { readonly refused: 'too-many' | 'nobody-watches' }
  >;
  readonly accessRequestsOf: Verb<OfSandbox, readonly ReportedAccessRequest[]>;
};

interface OfSandbox {
  readonly sandbox: string;
}

/** What the store of a worker asks. */
export type StoreVerbs = {
  readonly load: Verb<null, readonly StoredRegistration[]>;
  readonly add: Verb<StoredRegistration, ClaimTaken | null>;
  readonly replace: Verb<StoredRegistration, boolean>;
  readonly remove: Verb<{ readonly id: string }, { readonly unconfirmed: readonly string[] }>;
  readonly extend: Verb<readonly (readonly [id: string, expiresAtMs: number])[]>;
  readonly draw: Verb<MeterAsked & { readonly least: number; readonly wanted: number }, Drawn>;
  readonly giveBack: Verb<MeterAsked & { readonly amount: number }>;
  readonly spend: Verb<MeterAsked & { readonly amount: number }, number | null>;
  readonly places: Verb<
    { readonly key: string; readonly limit: number; readonly held: number; readonly wanted: number },
    number
  >;
  readonly tally: Verb<{ readonly key: string; readonly own: number; readonly keepMs: number }, number>;
  readonly put: Verb<{ readonly key: string; readonly value: string; readonly keepMs: number }>;
  readonly get: Verb<{ readonly key: string }, string | null>;
  readonly forget: Verb<{ readonly key: string }>;
  /** Answered when this worker has the lock, with what it gives back. */
  readonly lock: Verb<{ readonly name: string; readonly waitMs: number }, { readonly ticket: number }>;
  readonly unlock: Verb<{ readonly ticket: number }>;
};

interface MeterAsked {
  readonly key: string;
  readonly rate: MeterRate;
}

/** What opens these very doors again. */
export function listenOf({ proxies, mtls, gateways }: OpenDoors): Partial<ListenSettings> {
  const placeOf = (door: string): ListenAddress => {
    const colon = door.lastIndexOf(':');
    return { host: door.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(door.slice(colon + 1)) };
  };
  return { proxy: proxies.map(placeOf), mtls: mtls.map(placeOf), gateway: gateways };
}

export function awayFor(away: StoreAway | null, nowMs = performance.now()): AwayFor | null {
  return away === null ? null : { forMs: Math.max(0, nowMs - away.sinceMs), reason: away.reason };
}

export function awaySince(away: AwayFor | null, nowMs = performance.now()): StoreAway | null {
  return away === null ? null : { sinceMs: nowMs - away.forMs, reason: away.reason };
}
