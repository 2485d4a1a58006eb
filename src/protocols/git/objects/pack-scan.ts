// The first pass over a pack, as it arrives: every object is decompressed and held to its size, its place and the
// checksum of the whole. What it holds does not grow with the blobs: of those only the id is taken.
import { createHash, type Hash } from 'node:crypto';
import { GatheredBytes } from '../../gathered-bytes.ts';
import { GitWireError } from '../git-wire-error.ts';
import { digestOf, ID_BYTES, startDigest } from './object-id.ts';
import { PackEntries } from './pack-entries.ts';
import { compressedBound, inflateSmall, SMALL_OBJECT_BYTES, StreamInflater } from './pack-inflate.ts';
import { type ObjectHeader, readObjectHeader, typeOfCode } from './pack-object-header.ts';
import { WorkBudget } from './work-budget.ts';

export interface PackScanLimits {
  readonly maxObjects: number;
  /** Everything in the pack, decompressed. */
  readonly maxInflatedBytes: number;
  /** Content of commits, trees, tags and deltas that is held in memory; the rest is read again from the spool. */
  readonly maxHeldBytes: number;
}

export const defaultPackScanLimits: PackScanLimits = {
  maxObjects: 1_000_000,
  maxInflatedBytes: 8 * 1024 ** 3,
  maxHeldBytes: 64 * 1024 ** 2,
};

export interface PackSummary {
  readonly entries: PackEntries;
  readonly packBytes: number;
  readonly inflatedBytes: number;
  /** The SHA-1 at the end of the pack, checked. */
  readonly checksum: string;
}

const PACK_HEADER_BYTES = 12;
const SIGNATURE = 0x5041434b;
const VERSION = 2;
/** What the least of objects costs. */
const STEP_BYTES = 4096;
/** A large object is decompressed by other threads. */
const LARGE_SHARE = 8;

interface LargeObject {
  readonly index: number;
  readonly inflater: StreamInflater;
  readonly pieces: Buffer[] | null;
  readonly digest: Hash | null;
}

export class PackScan {
  readonly #limits: PackScanLimits;
  readonly #budget: WorkBudget;
  readonly #entries: PackEntries;
  readonly #hash = createHash('sha1');
  /** What was fed and not read yet, and how much of it there must be before it is looked at again. */
  readonly #rest = new GatheredBytes();
  #wanted = 0;
  /** How far into the pack `#rest` begins. */
  #position = 0;
  /** How many objects the header announces; -1 before it has been read. */
  #announced = -1;
  #large: LargeObject | null = null;
  #inflatedBytes = 0;
  #checksum: string | null = null;
  #busy = false;
  #failure: unknown = null;

  constructor(limits: Partial<PackScanLimits> = {}, budget = new WorkBudget()) {
    this.#budget = budget;
    this.#limits = { ...defaultPackScanLimits, ...limits };
    this.#entries = new PackEntries(this.#limits.maxHeldBytes, budget);
  }

  /** Wait for each call before the next: that is the back-pressure. */
  feed(chunk: Buffer): Promise<void> {
    return this.#guarded(() => this.#consume(chunk, false));
  }

  async end(): Promise<PackSummary> {
    await this.#guarded(() => this.#consume(Buffer.alloc(0), true));
    if (this.#checksum === null) throw this.#fail(malformed('the pack ends before it is complete'));
    return {
      entries: this.#entries,
      packBytes: this.#position,
      inflatedBytes: this.#inflatedBytes,
      checksum: this.#checksum,
    };
  }

  /** When the push is given up half-way. */
  destroy(): void {
    this.#fail(new Error('the scan of the pack was given up'));
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#busy) throw new Error('a pack scan was fed before it had taken the last chunk');
    this.#busy = true;
    try {
      await work();
    } catch (error) {
      throw this.#fail(error);
    } finally {
      this.#busy = false;
    }
  }

  #fail(error: unknown): unknown {
    this.#failure ??= error;
    this.#large?.inflater.destroy();
    this.#large = null;
    return this.#failure;
  }

  async #consume(chunk: Buffer, isLast: boolean): Promise<void> {
    this.#rest.add(chunk);
    if (!isLast && this.#rest.length < this.#wanted) return;
    this.#wanted = 0;
    const bytes = this.#rest.take() ?? chunk;
    let at = 0;
    let hashedTo = 0;
    while (this.#checksum === null) {
      if (this.#budget.isTurnDue) await this.#budget.turn();
      if (this.#large !== null) {
        if (at === bytes.length) break;
        at += await this.#feedLarge(this.#large, bytes.subarray(at));
        continue;
      }
      let next = at;
      if (this.#announced === -1) next = this.#readPackHeader(bytes);
      else if (this.#entries.count < this.#announced) next = this.#readObject(bytes, at, isLast);
      else if (bytes.length - at >= ID_BYTES) {
        this.#hash.update(bytes.subarray(hashedTo, at));
        hashedTo = bytes.length;
        next = this.#readTrailer(bytes, at);
      }
      if (next === at) break;
      at = next;
    }
    if (this.#checksum !== null && at < bytes.length) throw malformed('bytes follow behind the end of the pack');
    if (hashedTo < at) this.#hash.update(bytes.subarray(hashedTo, at));
    // A copy, so that a few bytes do not keep the whole chunk alive.
    if (at < bytes.length) this.#rest.add(Buffer.from(bytes.subarray(at)));
    this.#position += at;
  }

  #readPackHeader(bytes: Buffer): number {
    if (bytes.length < PACK_HEADER_BYTES) return 0;
    if (bytes.readUInt32BE(0) !== SIGNATURE) throw malformed('what was sent as a pack is not one');
    if (bytes.readUInt32BE(4) !== VERSION) {
      throw new GitWireError('unsupported', `a pack of another version than ${VERSION}`);
    }
    this.#announced = bytes.readUInt32BE(8);
    if (this.#announced > this.#limits.maxObjects) {
      throw new GitWireError(
        'too-large',
        `the pack announces ${this.#announced} objects; at most ${this.#limits.maxObjects} are judged in one push`,
      );
    }
    return PACK_HEADER_BYTES;
  }

  /** Returns where the next object begins, or the same place when more bytes are needed. */
  #readObject(bytes: Buffer, at: number, isLast: boolean): number {
    const header = readObjectHeader(bytes, at);
    if (header === null) return at;
    const isSmall = header.size <= SMALL_OBJECT_BYTES;
    // Until it must be all there, nothing is tried: each try that finds it cut short would be work for nothing.
    if (isSmall && !isLast && bytes.length - header.end < compressedBound(header.size)) {
      this.#wanted = header.end - at + compressedBound(header.size);
      return at;
    }
    const small = isSmall ? inflateSmall(bytes.subarray(header.end), header.size) : null;
    if (isSmall && small === null) return at;
    this.#spend(header.size);
    const index = this.#entries.add(this.#position + at, header);
    if (small === null) {
      this.#large = this.#startLarge(index, header);
      return header.end;
    }
    if (!this.#entries.isDelta(index)) {
      this.#entries.setId(index, digestOf(typeOfCode(header.code), small.content));
    }
    if (this.#entries.mayHold(index)) this.#entries.hold(index, small.content);
    return header.end + small.consumed;
  }

  #startLarge(index: number, header: ObjectHeader): LargeObject {
    const digest = this.#entries.isDelta(index) ? null : startDigest(typeOfCode(header.code), header.size);
    const pieces: Buffer[] | null = this.#entries.mayHold(index) ? [] : null;
    // Charged while it arrives too, because a client may send it slowly.
    if (pieces !== null) this.#budget.hold(header.size);
    const inflater = new StreamInflater(header.size, (piece) => {
      digest?.update(piece);
      pieces?.push(piece);
    });
    return { index, inflater, pieces, digest };
  }

  async #feedLarge(large: LargeObject, bytes: Buffer): Promise<number> {
    const consumed = await large.inflater.write(bytes);
    if (large.inflater.ended) {
      if (large.digest !== null) this.#entries.setId(large.index, large.digest.digest());
      if (large.pieces !== null) {
        this.#budget.release(this.#entries.size(large.index));
        this.#entries.hold(large.index, Buffer.concat(large.pieces));
      }
      this.#large = null;
    }
    return consumed;
  }

  #readTrailer(bytes: Buffer, at: number): number {
    const computed = this.#hash.digest();
    if (!computed.equals(bytes.subarray(at, at + ID_BYTES))) throw malformed('the checksum of the pack is wrong');
    this.#checksum = computed.toString('hex');
    this.#entries.close(this.#position + at);
    return at + ID_BYTES;
  }

  #spend(size: number): void {
    this.#budget.spend(size <= SMALL_OBJECT_BYTES ? size + STEP_BYTES : size / LARGE_SHARE);
    this.#inflatedBytes += size;
    if (this.#inflatedBytes > this.#limits.maxInflatedBytes) {
      throw new GitWireError(
        'too-large',
        `the pack unpacks to more than ${this.#limits.maxInflatedBytes} bytes, the most that is judged in one push`,
      );
    }
  }
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', what);
}
