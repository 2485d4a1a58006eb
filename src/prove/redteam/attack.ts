// The types of the red team: an attack, the facts it is judged by, and the possible verdicts. "It failed" is not enough: the
// door held only if something shows that Sallyport, or a wall it set up, stopped the attack.
import type { SeenRequest } from '../internet/pretend-world.ts';
import type { Ground } from './ground.ts';
import type { Observation, Probe } from './probe.ts';

/**
 * `held`: refused by us, with proof. `hole`: it got through. `unproven`: it did not get through, but nothing shows that we
 * stopped it. `not run`: something it needs is missing in this sandbox.
 */
export type AttackVerdict = 'held' | 'hole' | 'unproven' | 'not run';

export interface AttackFinding {
  readonly verdict: AttackVerdict;
  /** What shows it, in words for a person. */
  readonly evidence: string;
}

export type Area =
  | 'environment'
  | 'files'
  | 'processes'
  | 'neighbours'
  | 'sockets'
  | 'kernel'
  | 'network'
  | 'names'
  | 'requests'
  | 'credentials'
  | 'git'
  | 'github'
  | 'evidence';

/** The part of a journal record that judges read. */
export interface JournalRecord {
  readonly seq: number;
  readonly sandbox: string | null;
  readonly host: string;
  readonly path: string;
  readonly verdict: string;
  readonly code: string | null;
}

/** Everything that is known about one attempt, from inside and from outside. */
export interface Facts {
  readonly ground: Ground;
  readonly observed: readonly Observation[];
  /** What the control experiment gave. */
  readonly control: readonly Observation[];
  /** What reached the pretend world meanwhile, the gateway's own questions left out. */
  readonly seen: readonly SeenRequest[];
  readonly journal: readonly JournalRecord[];
  /** Who was visited outside meanwhile that should not be: planted sockets and services, the neighbour. */
  readonly visited: readonly string[];
  /** Null: the hash chain of the journal holds, or nobody asked. Otherwise where it breaks. */
  readonly journalBreak: string | null;
  /** Refs of the pretend repositories before and after; empty where nobody asked. */
  readonly refs: { readonly before: string; readonly after: string };
}

/** The same means used where it is allowed. Where it does not work, the attack proves nothing. */
export interface Control {
  /** What it shows, e.g. `the same request to an allowed host is answered`. */
  readonly shows: string;
  probes(ground: Ground): readonly Probe[];
  /** Null: it works. Otherwise what came instead. */
  fails(observed: readonly Observation[]): string | null;
}

export interface Attack {
  /** kebab-case; what `--only` takes. */
  readonly name: string;
  readonly area: Area;
  /** What was tried, in words. */
  readonly tried: string;
  /** Programs it needs inside. */
  readonly needs?: readonly string[];
  /** Null: it can be tried. Otherwise why it cannot be here. */
  missing?(ground: Ground): string | null;
  /** What is looked at outside beside what everybody looks at. */
  readonly looksAt?: 'refs' | 'journal';
  readonly control: Control;
  attempt(ground: Ground): readonly Probe[];
  judge(facts: Facts): AttackFinding;
}
