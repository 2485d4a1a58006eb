// The commits, trees and tags of a pack under their ids, deltas resolved. Bases that the pack does not hold are listed
// and can be supplied; until none is missing, the pack may hold a commit that nobody has looked at.
import { GitWireError } from '../git-wire-error.ts';
import { type Commit, CommitIds, type CommitOrigin, countParents, parseCommit } from './object-commit.ts';
import { ID_BYTES, type ObjectType, oidOf } from './object-id.ts';
import { defaultPackContentLimits, PackContent, type PackContentLimits, type ReadAt } from './pack-content.ts';
import type { PackEntries } from './pack-entries.ts';
import { BLOB, typeOfCode } from './pack-object-header.ts';
import { WorkBudget } from './work-budget.ts';

export interface PackObjectsLimits extends PackContentLimits {
  readonly maxMissingBases: number;
  readonly maxSuppliedBytes: number;
  /** Who brings its commits. */
  readonly origin: CommitOrigin;
}

export const defaultPackObjectsLimits: PackObjectsLimits = {
  ...defaultPackContentLimits,
  maxMissingBases: 1_000,
  maxSuppliedBytes: 64 * 1024 ** 2,
  origin: 'pushed',
};

export interface PackObject {
  readonly type: ObjectType;
  content(): Promise<Buffer>;
}

/** The deepest chain git itself will write (pack.depth). */
const MAX_CHAIN = 4095;
/** What knowing an object by its id takes, and what a commit or tag takes besides its ids. */
const INDEX_BYTES = 130;
const COMMIT_BYTES = 200;
/** What it costs to pass over an object of the table. */
const PASS_BYTES = 64;

interface Supplied {
  readonly type: ObjectType;
  readonly content: Buffer;
}

export class PackObjects {
  readonly commits: ReadonlyMap<string, Commit>;
  readonly tags: ReadonlyMap<string, Tag>;
  readonly #commits = new Map<string, Commit>();
  readonly #tags = new Map<string, Tag>();
  readonly #commitIds = new CommitIds();
  readonly #budget: WorkBudget;
  readonly #entries: PackEntries;
  readonly #content: PackContent;
  readonly #limits: PackObjectsLimits;
  readonly #indexes = new Map<string, number>();
  readonly #types: (ObjectType | undefined)[];
  readonly #depths: Uint16Array;
  /** The offset-deltas of each object, as a chain through two columns. */
  readonly #firstDelta: Int32Array;
  readonly #nextDelta: Int32Array;
  /** Ref-deltas by the base they wait for; what is left at the end is missing. */
  readonly #waiting = new Map<string, number[]>();
  readonly #foundBases = new Map<number, number | Supplied>();
  readonly #ready: number[] = [];
  readonly #readyBlobs: number[] = [];
  #suppliedBytes = 0;
  #state: 'new' | 'linked' | 'with-blobs' = 'new';

  constructor(
    entries: PackEntries,
    readAt: ReadAt,
    limits: Partial<PackObjectsLimits> = {},
    budget = new WorkBudget(),
  ) {
    this.#budget = budget;
    this.commits = this.#commits;
    this.tags = this.#tags;
    this.#entries = entries;
    this.#limits = { ...defaultPackObjectsLimits, ...limits };
    this.#content = new PackContent(entries, readAt, this.#limits, budget);
    this.#types = new Array(entries.count);
    this.#depths = new Uint16Array(entries.count);
    this.#firstDelta = new Int32Array(entries.count).fill(-1);
    this.#nextDelta = new Int32Array(entries.count).fill(-1);
  }

  /**
   * Bases of deltas that the pack does not hold, or holds only as a delta on another of these (or in a circle). Supply
   * those the server has and resolve again, as long as the list gets shorter. No verdict while it is not empty.
   */
  get missingBases(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /** Resolves all that can be; to be called again after supply(). */
  async resolve(): Promise<void> {
    if (this.#state === 'new') await this.#link();
    await this.#drain();
    if (this.#waiting.size > 0) await this.#identifyBlobs();
    if (this.#waiting.size > this.#limits.maxMissingBases) {
      throw new GitWireError(
        'too-large',
        `the pack leaves out the bases of ${this.#waiting.size} deltas; do not push thin`,
      );
    }
  }

  /** A missing base, brought from elsewhere. Its id is computed, not believed. One that is not missing is let be. */
  supply(oid: string, type: ObjectType, content: Buffer): void {
    if (!this.#waiting.has(oid)) return;
    if (oidOf(type, content) !== oid) throw new GitWireError('malformed', 'a base was supplied that has another id');
    this.#budget.hold(content.length);
    this.#suppliedBytes += content.length;
    if (this.#suppliedBytes > this.#limits.maxSuppliedBytes) {
      throw new GitWireError('too-large', 'the bases that the pack leaves out are too large; do not push thin');
    }
    this.#release(oid, { type, content }, type, 0);
  }

  /** Which of these the pack holds as blobs. Not those that it holds as deltas: their ids were not computed. */
  async blobsAmong(ids: ReadonlySet<string>): Promise<Set<string>> {
    const found = new Set<string>();
    for (let index = 0; index < this.#entries.count && found.size < ids.size; index++) {
      const turn = this.#pass();
      if (turn !== null) await turn;
      if (this.#entries.code(index) !== BLOB) continue;
      const id = this.#entries.id(index);
      if (ids.has(id)) found.add(id);
    }
    return found;
  }

  /** Null for what the pack does not hold, and for blobs. */
  get(oid: string): PackObject | null {
    const index = this.#indexes.get(oid);
    if (index === undefined) return null;
    return { type: this.#types[index] as ObjectType, content: () => this.#contentAt(index) };
  }

  async #link(): Promise<void> {
    const { count } = this.#entries;
    this.#state = 'linked';
    for (let index = count - 1; index >= 0; index--) {
      const turn = this.#pass();
      if (turn !== null) await turn;
      const baseId = this.#entries.baseId(index);
      const base = this.#entries.base(index);
      if (baseId !== null) {
        const others = this.#waiting.get(baseId);
        if (others === undefined) this.#waiting.set(baseId, [index]);
        else others.push(index);
      } else if (base !== -1) {
        this.#nextDelta[index] = this.#firstDelta[base] as number;
        this.#firstDelta[base] = index;
      }
    }
    for (let index = 0; index < count; index++) {
      const turn = this.#pass();
      if (turn !== null) await turn;
      if (this.#entries.isDelta(index) || this.#entries.root(index) === BLOB) continue;
      const type = typeOfCode(this.#entries.code(index));
      this.#types[index] = type;
      await this.#settle(index, this.#entries.id(index), type);
      await this.#drain();
    }
  }

  /** Each delta follows its base at once, depth first: the base is then still at hand. */
  async #drain(): Promise<void> {
    for (let index = this.#ready.pop(); index !== undefined; index = this.#ready.pop()) {
      const type = this.#types[index] as ObjectType;
      await this.#settle(index, oidOf(type, await this.#contentAt(index)), type);
    }
  }

  async #settle(index: number, oid: string, type: ObjectType): Promise<void> {
    if (this.#indexes.has(oid)) throw new GitWireError('malformed', 'the pack holds the same object twice');
    this.#budget.hold(INDEX_BYTES);
    this.#indexes.set(oid, index);
    if (type === 'commit') this.#commits.set(oid, this.#readCommit(await this.#contentAt(index)));
    if (type === 'tag') this.#tags.set(oid, this.#readTag(await this.#contentAt(index)));
    this.#releaseDeltas(index, oid, type);
    await this.#budget.turn();
  }

  /**
   * A delta that waits may be a change to a blob of the pack: then it is of no interest, but its base is not missing
   * either. Blobs that are deltas themselves have to be resolved to know their ids; as few as possible.
   */
  async #identifyBlobs(): Promise<void> {
    if (this.#state === 'linked') {
      this.#state = 'with-blobs';
      for (let index = 0; index < this.#entries.count; index++) {
        const turn = this.#pass();
        if (turn !== null) await turn;
        if (this.#entries.code(index) === BLOB) this.#releaseDeltas(index, this.#entries.id(index), 'blob');
      }
    }
    while (this.#waiting.size > 0) {
      const index = this.#readyBlobs.pop();
      if (index === undefined) return;
      this.#releaseDeltas(index, oidOf('blob', await this.#contentAt(index)), 'blob');
      await this.#budget.turn();
    }
  }

  /** One more of a million: nothing to wait for but a turn that is due. */
  #pass(): Promise<void> | null {
    this.#budget.spend(PASS_BYTES);
    return this.#budget.isTurnDue ? this.#budget.turn() : null;
  }

  #releaseDeltas(index: number, oid: string, type: ObjectType): void {
    const depth = this.#depths[index] as number;
    for (let delta = this.#firstDelta[index] as number; delta !== -1; delta = this.#nextDelta[delta] as number) {
      this.#queue(delta, type, depth + 1);
    }
    this.#release(oid, index, type, depth);
  }

  #release(oid: string, base: number | Supplied, type: ObjectType, depth: number): void {
    for (const delta of this.#waiting.get(oid) ?? []) {
      this.#foundBases.set(delta, base);
      this.#queue(delta, type, depth + 1);
    }
    this.#waiting.delete(oid);
  }

  #queue(delta: number, type: ObjectType, depth: number): void {
    if (depth > MAX_CHAIN) throw new GitWireError('too-large', `a chain of more than ${MAX_CHAIN} deltas in the pack`);
    this.#depths[delta] = depth;
    this.#types[delta] = type;
    (type === 'blob' ? this.#readyBlobs : this.#ready).push(delta);
  }

  #contentAt(index: number): Promise<Buffer> {
    return this.#content.of(index, (delta) => {
      const base = this.#entries.baseId(delta) === null ? this.#entries.base(delta) : this.#foundBases.get(delta);
      if (base === undefined) throw new Error('content was asked of a delta whose base is not known');
      return typeof base === 'number' ? base : base.content;
    });
  }

  /** Charged for all its parents before one of them is read. */
  #readCommit(content: Buffer): Commit {
    const { origin } = this.#limits;
    this.#budget.hold(COMMIT_BYTES + ID_BYTES * countParents(content, origin));
    return this.#commitIds.keep(parseCommit(content, origin));
  }

  #readTag(content: Buffer): Tag {
    this.#budget.hold(COMMIT_BYTES);
    return parseTag(content);
  }
}

// What an annotated tag points at: a ref may name a tag, and the commits behind it are pushed all the same.
// Never follows the target: it may be another tag, or on the server only.
interface Tag {
  readonly target: string;
  readonly targetType: ObjectType;
}

const HEAD = /^object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\ntag [^\n]*\n/;
const MAX_HEAD_BYTES = 4096;

export function parseTag(content: Buffer): Tag {
  const head = HEAD.exec(content.toString('latin1', 0, MAX_HEAD_BYTES));
  if (head === null) {
    throw new GitWireError('malformed', 'a tag that does not begin with its object, its type and its name');
  }
  return { target: head[1] as string, targetType: head[2] as ObjectType };
}
