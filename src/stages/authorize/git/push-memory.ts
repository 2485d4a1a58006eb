// What pushes that passed have proved of a repository: commits and directories under ids computed from their content, and
// which commit is part of which history. None of that ever changes, so it need not be asked again. Kept for one registration
// and one repository, never shared, never more than a share of memory. What a server's refs lead to now is no such fact, nor
// is a verdict: both are had anew for each push. // Guards: threats.md T22
import { LRUCache } from 'lru-cache';
import type { Identified, Permission } from '../../../path/flow.ts';
import type { RemoteRef } from '../../../protocols/git/fetch-v2.ts';
import { GitWireError } from '../../../protocols/git/git-wire-error.ts';
import { PARENT_BYTES, STEP_BYTES } from '../../../protocols/git/objects/ancestry.ts';
import { type Commit, parseCommit } from '../../../protocols/git/objects/object-commit.ts';
import { oidOf } from '../../../protocols/git/objects/object-id.ts';
import type { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import type { WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import type { GitServer, RemoteObject } from './git-server.ts';

/** Of all repositories together, and of one: its commits with what they name, and commits and directories as they are. */
const maxBytes = 32 * 1024 ** 2;
const maxCommits = 4_000;
const maxObjectsBytes = 1024 ** 2;
const maxObjectBytes = 256 * 1024;
/** Answers that a commit is part of what some others lead to, and how many others one may be about. */
const maxBelow = 1_000;
const maxTips = 16;
/** A question about more than this is asked without a look here. */
const maxAsked = 1_000;
/** What an entry of any kind takes besides content, and each id in it. */
const entryBytes = 300;
const idBytes = 80;

export interface PushMemoryOptions {
  readonly maxBytes: number;
  /** While this is the same nothing is forgotten: the policy in force, which says among others who the server is. */
  readonly epoch: () => unknown;
}

export class PushMemory {
  readonly #facts: LRUCache<string, RepositoryFacts>;
  readonly #currentEpoch: () => unknown;
  #epoch: unknown;

  constructor(options: Partial<PushMemoryOptions> = {}) {
    this.#facts = new LRUCache({
      maxSize: options.maxBytes ?? maxBytes,
      sizeCalculation: (facts) => facts.bytes + entryBytes,
    });
    this.#currentEpoch = options.epoch ?? (() => null);
    this.#epoch = this.#currentEpoch();
  }

  /** The same server for one push, asked only what is not known yet. */
  over(server: GitServer, flow: Identified, permission: Permission, budget: WorkBudget): RememberingServer {
    const epoch = this.#currentEpoch();
    if (epoch !== this.#epoch) this.#facts.clear();
    this.#epoch = epoch;
    const { scheme, host, port } = flow.canonical;
    const { id, createdAt } = flow.sandbox;
    // By registration: an id that is given again is somebody else.
    const key = JSON.stringify([id, createdAt, scheme, host, port, permission.git?.repository, permission.credential]);
    const facts = this.#facts.get(key) ?? new RepositoryFacts();
    const keep = (): void => {
      // One that was judged by another policy teaches nothing.
      if (this.#epoch !== epoch || this.#currentEpoch() !== epoch) return;
      // Its size is taken when it is new.
      this.#facts.delete(key);
      this.#facts.set(key, facts);
    };
    return new RememberingServer(server, facts, keep, budget);
  }
}

class RepositoryFacts {
  readonly objects = new Bounded<RemoteObject>(maxObjectsBytes, ({ content }) => content.length + entryBytes);
  readonly commits = new Bounded<Commit>(
    maxCommits * entryBytes,
    ({ parents }) => entryBytes + idBytes * parents.length,
  );
  /** A commit, and others of which at least one has it in its history. */
  readonly below = new Bounded<readonly string[]>(maxBelow * entryBytes, (tips) => entryBytes + idBytes * tips.length);

  get bytes(): number {
    return this.objects.bytes + this.commits.bytes + this.below.bytes;
  }
}

function moveTo<Value>(kept: Bounded<Value>, learned: Bounded<Value>): void {
  for (const [id, value] of learned.entries()) kept.keep(id, value);
}

/** What came first goes first. */
class Bounded<Value> {
  readonly #held = new Map<string, Value>();
  readonly #maxBytes: number;
  readonly #bytesOf: (value: Value) => number;
  bytes = 0;

  constructor(maxBytes: number, bytesOf: (value: Value) => number) {
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  get(id: string): Value | undefined {
    return this.#held.get(id);
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#held.entries();
  }

  keep(id: string, value: Value): void {
    this.#drop(id);
    this.#held.set(id, value);
    this.bytes += this.#bytesOf(value);
    for (const first of this.#held.keys()) {
      if (this.bytes <= this.#maxBytes) return;
      this.#drop(first);
    }
  }

  #drop(id: string): void {
    const value = this.#held.get(id);
    if (value === undefined) return;
    this.bytes -= this.#bytesOf(value);
    this.#held.delete(id);
  }
}

export class RememberingServer implements GitServer {
  readonly #server: GitServer;
  readonly #facts: RepositoryFacts;
  readonly #keep: () => void;
  readonly #budget: WorkBudget;
  /** What this push has learned: not known to any other before it has passed, and never if it does not. */
  readonly #learned = new RepositoryFacts();
  #charged = 0;

  constructor(server: GitServer, facts: RepositoryFacts, keep: () => void, budget: WorkBudget) {
    this.#server = server;
    this.#facts = facts;
    this.#keep = keep;
    this.#budget = budget;
  }

  refs(prefixes: readonly string[]): Promise<readonly RemoteRef[]> {
    return this.#server.refs(prefixes);
  }

  known(tip: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#server.known(tip, ids);
  }

  async commits(wants: readonly string[], haves: readonly string[]): Promise<ReadonlyMap<string, Commit>> {
    const remembered = this.#between(wants, haves);
    await this.#budget.turn();
    if (remembered !== null) return remembered;
    const found = await this.#server.commits(wants, haves);
    this.#learnCommits(found);
    if (found.size === 0 && haves.length <= maxTips && wants.length <= maxTips) {
      for (const id of wants) if (!haves.includes(id)) this.#learned.below.keep(id, [...haves]);
    }
    this.#chargeLearned();
    return found;
  }

  async objects(ids: readonly string[]): Promise<ReadonlyMap<string, RemoteObject>> {
    const found = new Map<string, RemoteObject>();
    const open: string[] = [];
    for (const id of ids) {
      const object = this.#facts.objects.get(id);
      if (object === undefined) open.push(id);
      else found.set(id, object);
    }
    if (open.length === 0) return found;
    for (const [id, object] of await this.#server.objects(open)) {
      found.set(id, object);
      this.#learn(id, object);
    }
    this.#chargeLearned();
    return found;
  }

  /** The push passes: what it has taught is kept, and the tips that it brings are what the next one builds on. */
  async passed(tips: readonly string[], objects: PackObjects | null): Promise<void> {
    try {
      if (objects !== null) await this.#learnTips(tips, objects);
    } catch (error) {
      // Too much to look into once more: then it is asked for next time.
      if (!(error instanceof GitWireError)) throw error;
    }
    moveTo(this.#facts.objects, this.#learned.objects);
    moveTo(this.#facts.commits, this.#learned.commits);
    moveTo(this.#facts.below, this.#learned.below);
    this.#keep();
  }

  async #learnTips(tips: readonly string[], objects: PackObjects): Promise<void> {
    this.#learnCommits(objects.commits);
    for (const tip of tips.slice(-maxTips)) {
      const commit = objects.commits.get(tip);
      for (const id of commit === undefined ? [] : [tip, commit.tree]) {
        const object = objects.get(id);
        if (object !== null) this.#learn(id, { type: object.type, content: await object.content() });
      }
    }
    this.#chargeLearned();
  }

  #learnCommits(commits: ReadonlyMap<string, Commit>): void {
    let left = maxCommits;
    for (const [id, { tree, parents }] of commits) {
      if (--left < 0) return;
      this.#learned.commits.keep(id, { tree, parents });
    }
  }

  /** What it holds at most; it is given back with all that is held for the push. */
  #chargeLearned(): void {
    const more = this.#learned.bytes - this.#charged;
    if (more <= 0) return;
    this.#budget.hold(more);
    this.#charged += more;
  }

  /** Whoever says so: only what has this id by its content, and is of use. */
  #learn(id: string, { type, content }: RemoteObject): void {
    if ((type !== 'commit' && type !== 'tree') || content.length > maxObjectBytes) return;
    this.#budget.spend(content.length);
    if (oidOf(type, content) !== id)
      throw new GitWireError('malformed', 'an object came under an id that is not its own');
    // A copy: it may be a window on a whole pack.
    this.#learned.objects.keep(id, { type, content: Buffer.from(content) });
    if (type === 'commit') this.#learned.commits.keep(id, parseCommit(content, 'served'));
  }

  /**
   * What the server would answer; null where that is not known for certain. Nothing lies between where all of `wants` are
   * in the history of `haves`. Otherwise every way back must be known until it meets the one commit that is excluded: then
   * what lies on the ways is built on it, and cannot be part of its history. A way that ends elsewhere may lead into parts of
   * that history that are not known here.
   */
  #between(wants: readonly string[], haves: readonly string[]): Map<string, Commit> | null {
    if (wants.length + haves.length > maxAsked) return null;
    const { commits, below } = this.#facts;
    const history = this.#historyOf(haves);
    const isPast = (id: string): boolean => history.has(id) || below.get(id)?.every((tip) => history.has(tip)) === true;
    const found = new Map<string, Commit>();
    if (wants.every(isPast)) return found;
    const [only] = haves;
    if (haves.length !== 1 || only === undefined) return null;
    const open = [...wants];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (id === only || found.has(id)) continue;
      const commit = isPast(id) ? undefined : commits.get(id);
      if (commit === undefined || commit.parents.length === 0) return null;
      this.#charge(commit);
      found.set(id, commit);
      open.push(...commit.parents);
    }
    return found;
  }

  /** Of these commits, as far as it is known. */
  #historyOf(tips: readonly string[]): Set<string> {
    const history = new Set(tips);
    for (const id of history) {
      const commit = this.#facts.commits.get(id);
      if (commit === undefined) continue;
      this.#charge(commit);
      for (const parent of commit.parents) history.add(parent);
    }
    return history;
  }

  #charge({ parents }: Commit): void {
    this.#budget.spend(STEP_BYTES + PARENT_BYTES * parents.length);
  }
}
