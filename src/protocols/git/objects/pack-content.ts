// Content of the objects of a pack on demand: from memory where the scan held it, else from the spool, with deltas
// applied. All work is counted against one budget, so that deltas on deltas cannot keep the gateway busy for ever.
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { GitWireError } from '../git-wire-error.ts';
import { applyDelta, deltaResultBytes } from './delta.ts';
import type { PackEntries } from './pack-entries.ts';
import { inflateSmall, SMALL_OBJECT_BYTES } from './pack-inflate.ts';
import { readObjectHeader } from './pack-object-header.ts';
import { OverBudget, WorkBudget } from './work-budget.ts';

/** Reads from the spooled pack; offset 0 is the first byte of its header. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>;

export interface PackContentLimits {
  /** The largest commit, tree, tag or base of a delta that is looked into. */
  readonly maxObjectBytes: number;
  /** Bytes decompressed again and bytes made by deltas, in all. */
  readonly maxWorkBytes: number;
  /** Content kept because it may be the base of what comes next. */
  readonly cacheBytes: number;
}

export const defaultPackContentLimits: PackContentLimits = {
  maxObjectBytes: 32 * 1024 ** 2,
  maxWorkBytes: 4 * 1024 ** 3,
  cacheBytes: 64 * 1024 ** 2,
};

const inflateLarge = promisify(inflate);
/** What each step costs at least: many tiny steps are work too. */
const STEP_BYTES = 1024;

export class PackContent {
  readonly #entries: PackEntries;
  readonly #readAt: ReadAt;
  readonly #limits: PackContentLimits;
  readonly #cache: LRUCache<number, Buffer>;
  readonly #budget: WorkBudget;
  #workBytes = 0;

  constructor(entries: PackEntries, readAt: ReadAt, limits: PackContentLimits, budget = new WorkBudget()) {
    this.#entries = entries;
    this.#readAt = readAt;
    this.#limits = limits;
    this.#budget = budget;
    this.#cache = new LRUCache({
      maxSize: limits.cacheBytes,
      sizeCalculation: (content) => content.length + STEP_BYTES,
      dispose: (content) => budget.release(content.length + STEP_BYTES),
    });
  }

  /**
   * `baseOf` names the base of each delta on the way, as an index of the pack or as the content itself. It must lead
   * to an end: the caller hands out bases only of objects that it has resolved.
   */
  async of(index: number, baseOf: (delta: number) => number | Buffer): Promise<Buffer> {
    const deltas: number[] = [];
    let place = index;
    let content = this.#cache.get(place);
    while (content === undefined && this.#entries.isDelta(place)) {
      deltas.push(place);
      const base = baseOf(place);
      if (typeof base !== 'number') content = base;
      else {
        place = base;
        content = this.#cache.get(place);
      }
    }
    // What is at hand is looked into all the same.
    if (content !== undefined) this.#spend(content.length);
    content ??= await this.#unpacked(place);
    for (let delta = deltas.pop(); delta !== undefined; delta = deltas.pop()) {
      const changes = await this.#unpacked(delta);
      this.#spend(deltaResultBytes(changes));
      content = await applyDelta(content, changes, this.#limits.maxObjectBytes, this.#budget);
      this.#keep(delta, content);
      await this.#budget.turn();
    }
    return content;
  }

  /** The bytes of an object as they stand in the pack, decompressed: content, or the instructions of a delta. */
  async #unpacked(index: number): Promise<Buffer> {
    const size = this.#entries.size(index);
    this.#spend(size);
    const held = this.#entries.held(index);
    if (held !== undefined) return held;
    if (size > this.#limits.maxObjectBytes) {
      throw new GitWireError(
        'too-large',
        `an object of ${size} bytes would have to be looked into; at most ${this.#limits.maxObjectBytes} are`,
      );
    }
    // The scan has seen these very bytes: another answer now is a fault of the spool, never a verdict on the push.
    const content = await this.#reread(index, size).catch((cause: unknown) => {
      throw new Error('the spooled pack cannot be read as it was scanned', { cause });
    });
    if (!this.#entries.isDelta(index)) this.#keep(index, content);
    return content;
  }

  async #reread(index: number, size: number): Promise<Buffer> {
    const offset = this.#entries.offset(index);
    const bytes = await this.#readAt(offset, this.#entries.end(index) - offset);
    const header = readObjectHeader(bytes, 0);
    if (header?.code !== this.#entries.code(index) || header.size !== size) throw new Error('another header');
    const packed = bytes.subarray(header.end);
    const content =
      size <= SMALL_OBJECT_BYTES
        ? inflateSmall(packed, size)?.content
        : await inflateLarge(packed, { chunkSize: size + 1, maxOutputLength: size + 1 });
    if (content?.length !== size) throw new Error('another length');
    return content;
  }

  #keep(index: number, content: Buffer): void {
    const bytes = content.length + STEP_BYTES;
    if (bytes > this.#limits.cacheBytes) return;
    this.#budget.hold(bytes);
    this.#cache.set(index, content);
  }

  #spend(bytes: number): void {
    this.#budget.spend(bytes + STEP_BYTES);
    this.#workBytes += bytes + STEP_BYTES;
    if (this.#workBytes > this.#limits.maxWorkBytes) {
      throw new OverBudget(`judging this pack takes more than ${this.#limits.maxWorkBytes} bytes of work`);
    }
  }
}
