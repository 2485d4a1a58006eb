// Where the pack of an answer is kept while it is looked into: in memory as long as it is small, as most are, and in a
// file of the caller's beyond that. Never grows in memory with the answer.
import { GatheredBytes } from '../../gathered-bytes.ts';
import type { ReadAt } from './pack-content.ts';
import { WorkBudget } from './work-budget.ts';

export interface OverflowFile {
  write(chunk: Buffer): Promise<void>;
  readAt(position: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export class PackStore {
  readonly #maxMemoryBytes: number;
  readonly #openOverflow: () => Promise<OverflowFile>;
  readonly #held = new GatheredBytes();
  readonly #budget: WorkBudget;
  #bytes = 0;
  #file: OverflowFile | null = null;
  #isClosed = false;

  constructor(maxMemoryBytes: number, openOverflow: () => Promise<OverflowFile>, budget = new WorkBudget()) {
    this.#budget = budget;
    this.#maxMemoryBytes = maxMemoryBytes;
    this.#openOverflow = openOverflow;
  }

  /** Wait for each call before the next. */
  async write(piece: Buffer): Promise<void> {
    if (this.#isClosed) throw closed();
    this.#bytes += piece.length;
    if (this.#file !== null) {
      await this.#file.write(piece);
      return;
    }
    this.#budget.hold(piece.length);
    this.#held.add(piece);
    if (this.#bytes > this.#maxMemoryBytes) await this.#moveToFile();
  }

  async #moveToFile(): Promise<void> {
    const file = await this.#openOverflow();
    // Closed meanwhile: nobody else would close this one.
    if (this.#isClosed) {
      await file.close();
      throw closed();
    }
    this.#file = file;
    const held = this.#held.take();
    if (held === null) return;
    await file.write(held);
    this.#budget.release(held.length);
  }

  readonly readAt: ReadAt = async (offset, length) => {
    if (this.#file !== null) return this.#file.readAt(offset, length);
    const bytes = this.#held.view().subarray(offset, offset + length);
    if (bytes.length !== length) throw new Error('the stored pack is shorter than what is asked of it');
    return bytes;
  };

  /** Gives back what it holds. May be called more than once, and while something is being written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#held.take();
    await this.#file?.close();
  }
}

function closed(): Error {
  return new Error('the pack is no longer kept');
}
