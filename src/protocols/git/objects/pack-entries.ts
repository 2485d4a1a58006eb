// The table of contents of a pack: for each object its place, type, size, base and, when it is not a delta, its id.
// In columns, because a pack may hold a million objects; content is held only within a budget, never a blob's.
import { GitWireError } from '../git-wire-error.ts';
import { ID_BYTES } from './object-id.ts';
import { BLOB, type ObjectHeader, OFFSET_DELTA, REF_DELTA } from './pack-object-header.ts';
import { WorkBudget } from './work-budget.ts';

const SLAB_BYTES = 1024 * 1024;
/** What the columns below, and those of who resolves the pack, take for each object. */
const ENTRY_BYTES = 128;
/** What knowing a base by its id takes. */
const BASE_ID_BYTES = 200;
/** What holding one more piece of content costs besides its bytes. */
const HELD_OVERHEAD_BYTES = 256;

export class PackEntries {
  readonly #offsets: number[] = [];
  readonly #codes: number[] = [];
  readonly #sizes: number[] = [];
  /** The index of an offset-delta's base; -1 for everything else. */
  readonly #bases: number[] = [];
  /** The type the object will turn out to have; 0 while that hangs on a base known only by id. */
  readonly #roots: number[] = [];
  readonly #baseIds = new Map<number, string>();
  readonly #held = new Map<number, Buffer>();
  readonly #heldLimitBytes: number;
  readonly #budget: WorkBudget;
  #heldBytes = 0;
  #ids = Buffer.alloc(0);
  #slab = Buffer.alloc(0);
  #end = 0;

  constructor(heldLimitBytes: number, budget = new WorkBudget()) {
    this.#budget = budget;
    this.#heldLimitBytes = heldLimitBytes;
  }

  get count(): number {
    return this.#offsets.length;
  }

  /** Objects stand one behind the other: each ends where the next begins. */
  add(offset: number, header: ObjectHeader): number {
    this.#budget.hold(ENTRY_BYTES + (header.baseId === null ? 0 : BASE_ID_BYTES));
    const index = this.count;
    let base = -1;
    let root = header.code;
    if (header.code === OFFSET_DELTA) {
      base = this.#indexAt(offset - header.baseDistance);
      root = this.root(base);
    } else if (header.baseId !== null) {
      this.#baseIds.set(index, header.baseId);
      root = 0;
    }
    this.#offsets.push(offset);
    this.#codes.push(header.code);
    this.#sizes.push(header.size);
    this.#bases.push(base);
    this.#roots.push(root);
    return index;
  }

  /** The place behind the last object, once it is known. */
  close(end: number): void {
    this.#end = end;
  }

  offset(index: number): number {
    return this.#offsets[index] as number;
  }

  end(index: number): number {
    return this.#offsets[index + 1] ?? this.#end;
  }

  code(index: number): number {
    return this.#codes[index] as number;
  }

  size(index: number): number {
    return this.#sizes[index] as number;
  }

  root(index: number): number {
    return this.#roots[index] as number;
  }

  base(index: number): number {
    return this.#bases[index] as number;
  }

  baseId(index: number): string | null {
    return this.#baseIds.get(index) ?? null;
  }

  isDelta(index: number): boolean {
    const code = this.code(index);
    return code === OFFSET_DELTA || code === REF_DELTA;
  }

  setId(index: number, digest: Buffer): void {
    const needed = (index + 1) * ID_BYTES;
    if (this.#ids.length < needed) {
      const larger = Buffer.alloc(Math.max(needed, this.#ids.length * 2, 64 * ID_BYTES));
      this.#ids.copy(larger);
      this.#ids = larger;
    }
    digest.copy(this.#ids, index * ID_BYTES);
  }

  /** Only for objects that are not deltas. */
  id(index: number): string {
    return this.#ids.toString('hex', index * ID_BYTES, (index + 1) * ID_BYTES);
  }

  /** Whether content of this object is worth holding: a blob's decides nothing, nor does a change to one. */
  mayHold(index: number): boolean {
    return (
      this.root(index) !== BLOB && this.#heldBytes + this.size(index) + HELD_OVERHEAD_BYTES <= this.#heldLimitBytes
    );
  }

  /** Copies: a small buffer from zlib is a window on a shared pool, which it would keep alive as a whole. */
  hold(index: number, content: Buffer): void {
    this.#budget.hold(content.length + HELD_OVERHEAD_BYTES);
    this.#heldBytes += content.length + HELD_OVERHEAD_BYTES;
    if (content.length > this.#slab.length) {
      if (content.length > SLAB_BYTES / 4) {
        this.#held.set(index, Buffer.from(content));
        return;
      }
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    }
    content.copy(this.#slab);
    this.#held.set(index, this.#slab.subarray(0, content.length));
    this.#slab = this.#slab.subarray(content.length);
  }

  held(index: number): Buffer | undefined {
    return this.#held.get(index);
  }

  #indexAt(offset: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.offset(middle);
      if (found === offset) return middle;
      if (found < offset) low = middle + 1;
      else high = middle - 1;
    }
    throw new GitWireError('malformed', 'a delta in the pack whose base is at a place where no object begins');
  }
}
