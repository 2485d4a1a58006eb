// What a server sends in answer to a fetch of ours, read while it arrives: commits and single objects under ids that are
// computed from their bytes. Never believes an id, and an answer that leans on objects it does not hold is none.
import { FetchAnswerReader } from './fetch-v2-answer.ts';
import { GitWireError } from './git-wire-error.ts';
import type { Commit } from './objects/object-commit.ts';
import { type ObjectType, oidOf } from './objects/object-id.ts';
import { defaultPackContentLimits, PackContent } from './objects/pack-content.ts';
import type { PackEntries } from './objects/pack-entries.ts';
import { BLOB } from './objects/pack-object-header.ts';
import { PackObjects } from './objects/pack-objects.ts';
import { PackScan } from './objects/pack-scan.ts';
import type { PackStore } from './objects/pack-store.ts';
import { WorkBudget } from './objects/work-budget.ts';

export interface FetchedPackLimits {
  readonly maxPackBytes: number;
  readonly maxObjects: number;
  readonly maxInflatedBytes: number;
  /** Content handed out by `find`, in all. */
  readonly maxFoundBytes: number;
}

export const defaultFetchedPackLimits: FetchedPackLimits = {
  maxPackBytes: 256 * 1024 ** 2,
  maxObjects: 1_000_000,
  maxInflatedBytes: 1024 ** 3,
  maxFoundBytes: 64 * 1024 ** 2,
};

export interface FoundObject {
  readonly type: ObjectType;
  readonly content: Buffer;
}

/** Several questions may be under way: each holds less in memory than the one push that is judged. */
const memory = { maxHeldBytes: 16 * 1024 ** 2, cacheBytes: 16 * 1024 ** 2 };
/** A delta on a blob that stands later in the pack takes another pass; git writes bases first. */
const MAX_PASSES = 64;
/** What knowing a blob by its id takes. */
const INDEX_BYTES = 130;

export class FetchedPack {
  readonly #store: PackStore;
  readonly #limits: FetchedPackLimits;
  readonly #answer: FetchAnswerReader;
  readonly #scan: PackScan;
  readonly #budget: WorkBudget;

  /** The store stays the caller's to close, when nothing more is asked of what was fetched. */
  constructor(store: PackStore, limits: Partial<FetchedPackLimits> = {}, budget = new WorkBudget()) {
    this.#budget = budget;
    this.#store = store;
    this.#limits = { ...defaultFetchedPackLimits, ...limits };
    const { maxPackBytes, maxObjects, maxInflatedBytes } = this.#limits;
    this.#answer = new FetchAnswerReader({ maxPackBytes });
    this.#scan = new PackScan({ maxObjects, maxInflatedBytes, maxHeldBytes: memory.maxHeldBytes }, budget);
  }

  /** Wait for each call before the next. In one piece, for a server may put each byte in a packet of its own. */
  async feed(chunk: Buffer): Promise<void> {
    this.#budget.spend(chunk.length);
    const { pack } = this.#answer.feed(chunk);
    const bytes = pack.length === 1 ? pack[0]! : Buffer.concat(pack);
    await this.#store.write(bytes);
    await this.#scan.feed(bytes);
  }

  /** When the body has ended. */
  async end(): Promise<Fetched> {
    this.#answer.end();
    const { entries } = await this.#scan.end();
    const objects = new PackObjects(
      entries,
      this.#store.readAt,
      { cacheBytes: memory.cacheBytes, origin: 'served' },
      this.#budget,
    );
    await objects.resolve();
    if (objects.missingBases.length > 0) {
      throw new GitWireError('malformed', 'the fetch answer leaves out objects that others in it are made of');
    }
    const blobs = new BlobFinder(entries, this.#store, this.#budget);
    return new Fetched(objects, blobs, this.#answer.shallow, this.#limits.maxFoundBytes, this.#budget);
  }

  /** When the answer is given up half-way. */
  destroy(): void {
    this.#scan.destroy();
  }
}

export class Fetched {
  readonly commits: ReadonlyMap<string, Commit>;
  /** Commits at which the server cut history off. */
  readonly shallow: readonly string[];
  readonly #objects: PackObjects;
  readonly #blobs: BlobFinder;
  readonly #maxFoundBytes: number;
  readonly #budget: WorkBudget;

  constructor(
    objects: PackObjects,
    blobs: BlobFinder,
    shallow: readonly string[],
    maxFoundBytes: number,
    budget: WorkBudget,
  ) {
    this.#budget = budget;
    this.commits = objects.commits;
    this.shallow = shallow;
    this.#objects = objects;
    this.#blobs = blobs;
    this.#maxFoundBytes = maxFoundBytes;
  }

  /** Those of `ids` that came. */
  async find(ids: readonly string[]): Promise<Map<string, FoundObject>> {
    const found = new Map<string, FoundObject>();
    let bytes = 0;
    const add = (id: string, type: ObjectType, content: Buffer): void => {
      bytes += content.length;
      if (bytes > this.#maxFoundBytes) {
        throw new GitWireError('too-large', `objects of more than ${this.#maxFoundBytes} bytes in all were asked for`);
      }
      this.#budget.hold(content.length);
      found.set(id, { type, content });
    };
    const others: string[] = [];
    for (const id of ids) {
      const object = this.#objects.get(id);
      if (object === null) others.push(id);
      else add(id, object.type, await object.content());
    }
    for (const id of others) {
      const content = await this.#blobs.get(id);
      if (content !== null) add(id, 'blob', content);
    }
    return found;
  }
}

/** Blobs by id. PackObjects leaves them alone, because a push may hold very many; of an answer only a few are wanted. */
class BlobFinder {
  readonly #entries: PackEntries;
  readonly #content: PackContent;
  readonly #indexes = new Map<string, number>();
  readonly #known = new Set<number>();
  readonly #budget: WorkBudget;
  /** Deltas that are, or may be, changes to a blob; null before anything was asked. */
  #deltas: number[] | null = null;

  constructor(entries: PackEntries, store: PackStore, budget: WorkBudget) {
    this.#entries = entries;
    this.#budget = budget;
    const limits = { ...defaultPackContentLimits, cacheBytes: memory.cacheBytes };
    this.#content = new PackContent(entries, store.readAt, limits, budget);
  }

  async get(id: string): Promise<Buffer | null> {
    this.#deltas ??= this.#list();
    if (!this.#indexes.has(id)) await this.#resolve();
    const index = this.#indexes.get(id);
    return index === undefined ? null : this.#contentAt(index);
  }

  #list(): number[] {
    const deltas: number[] = [];
    for (let index = 0; index < this.#entries.count; index++) {
      const root = this.#entries.root(index);
      if (this.#entries.isDelta(index)) {
        if (root === BLOB || root === 0) deltas.push(index);
      } else if (root === BLOB) {
        this.#budget.hold(INDEX_BYTES);
        this.#indexes.set(this.#entries.id(index), index);
        this.#known.add(index);
      }
    }
    return deltas;
  }

  /** All deltas on blobs at once: the id of one is known only when it has been applied. */
  async #resolve(): Promise<void> {
    let open = this.#deltas ?? [];
    // What is left when a pass finds nothing more are changes to trees and the like.
    this.#deltas = [];
    for (let pass = 0; open.length > 0; pass++) {
      if (pass === MAX_PASSES) throw new GitWireError('too-large', 'a fetch answer with its deltas in a long tangle');
      const left: number[] = [];
      for (const index of open) {
        if (!this.#hasBase(index)) {
          left.push(index);
          continue;
        }
        this.#budget.hold(INDEX_BYTES);
        const id = oidOf('blob', await this.#contentAt(index));
        // The first stays: a second of the same id could be a change to what is itself built on the first.
        if (!this.#indexes.has(id)) this.#indexes.set(id, index);
        this.#known.add(index);
        await this.#budget.turn();
      }
      if (left.length === open.length) return;
      open = left;
    }
  }

  #hasBase(delta: number): boolean {
    const id = this.#entries.baseId(delta);
    return id === null ? this.#known.has(this.#entries.base(delta)) : this.#indexes.has(id);
  }

  #contentAt(index: number): Promise<Buffer> {
    return this.#content.of(index, (delta) => {
      const id = this.#entries.baseId(delta);
      const base = id === null ? this.#entries.base(delta) : this.#indexes.get(id);
      if (base === undefined) throw new Error('content was asked of a delta whose base is not known');
      return base;
    });
  }
}
