// Takes in the body of a push: its commands first, then its pack, scanned as it comes and kept on disk until it is
// judged. Memory does not grow with the push. What is judged is byte for byte what is kept, and only that is sent on.
import { createGunzip } from 'node:zlib';
import type { Spool, SpoolFile } from '../../../kit/files/spool.ts';
import type { BodyPull } from '../../../path/exchange/body-pull.ts';
import { GatheredBytes } from '../../../protocols/gathered-bytes.ts';
import { GitWireError } from '../../../protocols/git/git-wire-error.ts';
import { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { PackScan } from '../../../protocols/git/objects/pack-scan.ts';
import { WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import { type ReceivePackRequest, ReceivePackRequestReader } from '../../../protocols/git/receive-pack-request.ts';

/** What the commands take in memory: as they came, and as they were read. */
const commandsShare = 3;
/** One push may hold this much of commits, trees and deltas in memory; the rest is read again from disk. */
const scanLimits = { maxHeldBytes: 12 * 1024 ** 2 };
const contentLimits = { cacheBytes: 8 * 1024 ** 2 };

/**
 * A pack is written down and looked into this much at a time: each piece of the network by itself would take two rounds
 * through other threads. As much as waits at most, so the next is there when one is done.
 */
const batchBytes = 256 * 1024;

export class PushTooLarge extends Error {
  override readonly name = 'PushTooLarge';
}

export class PushBody {
  /** The next bytes; null at the end. */
  readonly #source: () => Promise<Buffer | null>;
  readonly #maxBytes: number;
  readonly #reader = new ReceivePackRequestReader();
  /** What was read until the commands were complete. */
  readonly #begun = new GatheredBytes();
  #bytes = 0;
  #file: SpoolFile | null = null;
  /** What did not fit into the last batch. */
  #over: Buffer | null = null;

  readonly #commandBudget: WorkBudget;

  /** `maxBytes` counts what comes out of the compression, where there is one. Its commands are charged to `budget`. */
  constructor(pull: BodyPull, isCompressed: boolean, maxBytes: number, budget = new WorkBudget()) {
    this.#commandBudget = budget;
    this.#source = isCompressed ? unzipped(pull) : () => pull.next();
    this.#maxBytes = maxBytes;
  }

  /** The file that holds all of it, once it was received whole. */
  get file(): SpoolFile | null {
    return this.#file;
  }

  /** The commands; throws a GitWireError for what cannot be read in one way only. */
  async readCommands(): Promise<ReceivePackRequest> {
    for (let complete = false; !complete; ) {
      const chunk = await this.#next();
      if (chunk === null) return this.#reader.result;
      this.#commandBudget.hold(chunk.length * commandsShare);
      this.#begun.add(chunk);
      complete = this.#reader.feed(chunk);
    }
    return this.#reader.result;
  }

  /** Reads the rest to the end onto the disk; null when the push carries no pack. What its pack costs goes to `budget`. */
  async keep(spool: Spool, budget?: WorkBudget): Promise<PackObjects | null> {
    const { packFollows, rest, sectionBytes } = this.#reader.result;
    const file = await spool.open();
    this.#file = file;
    const begun = this.#begun.take();
    if (begun !== null) await file.write(begun);
    if (!packFollows) {
      for (let chunk = await this.#next(); chunk !== null; chunk = await this.#next()) this.#reader.feed(chunk);
      return null;
    }
    const scan = new PackScan(scanLimits, budget);
    const waiting = budget?.part() ?? new WorkBudget();
    try {
      await scan.feed(rest);
      for (let batch = await this.#batch(waiting); batch !== null; batch = await this.#batch(waiting)) {
        const written = file.write(batch);
        // Waited for below; what the scan throws comes first.
        written.catch(() => {});
        await scan.feed(batch);
        await written;
      }
      const { entries } = await scan.end();
      const readAt = (at: number, length: number) => file.readAt(sectionBytes + at, length);
      const objects = new PackObjects(entries, readAt, contentLimits, budget);
      await objects.resolve();
      return objects;
    } catch (error) {
      scan.destroy();
      throw error;
    } finally {
      waiting.close();
    }
  }

  /** All of it as it comes, for a push that is decided by its commands. */
  async *passThrough(): AsyncGenerator<Buffer> {
    const begun = this.#begun.take();
    if (begun !== null) yield begun;
    for (let chunk = await this.#next(); chunk !== null; chunk = await this.#next()) yield chunk;
  }

  /**
   * Reads what is left to the end and drops it, within reason: git reads no answer before it has sent everything.
   * False when there was no end.
   */
  async drain(): Promise<boolean> {
    await this.#file?.close();
    for (let left = this.#maxBytes; left > 0; ) {
      const chunk = await this.#source();
      if (chunk === null) return true;
      left -= chunk.length;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #next(): Promise<Buffer | null> {
    const chunk = await this.#source();
    if (chunk === null) return null;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw new PushTooLarge(`the push has more than ${this.#maxBytes} bytes`);
    return chunk;
  }

  /** In a buffer of its own each time: who looks into it may keep a part. A piece that comes alone is taken as it is. */
  async #batch(budget: WorkBudget): Promise<Buffer | null> {
    const first = this.#over ?? (await this.#next());
    this.#over = null;
    if (first === null || first.length >= batchBytes) return first;
    let piece = await this.#next();
    if (piece === null) return first;
    if (budget.heldBytes === 0) budget.hold(2 * batchBytes);
    const batch = Buffer.allocUnsafeSlow(batchBytes);
    let filled = first.copy(batch);
    for (; piece !== null; piece = await this.#next()) {
      const taken = piece.copy(batch, filled);
      filled += taken;
      if (filled < batchBytes) continue;
      if (taken < piece.length) this.#over = piece.subarray(taken);
      break;
    }
    return batch.subarray(0, filled);
  }
}

/** Never more than a piece ahead of who reads: a bomb unfolds only as far as the limit lets it. */
function unzipped(pull: BodyPull): () => Promise<Buffer | null> {
  const pieces = unzippedPieces(pull);
  return async () => {
    const { done, value } = await pieces.next();
    return done ? null : value;
  };
}

async function* unzippedPieces(pull: BodyPull): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip();
  const feeding = (async () => {
    for await (const chunk of pull) {
      if (!gunzip.write(chunk)) await new Promise((resolve) => gunzip.once('drain', resolve));
    }
    gunzip.end();
  })().catch((error: unknown) => gunzip.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    for await (const piece of gunzip) yield piece as Buffer;
    await feeding;
  } catch (error) {
    const code = (error as { code?: string }).code ?? '';
    if (!code.startsWith('Z_')) throw error;
    throw new GitWireError('malformed', 'the compression of the request cannot be read');
  } finally {
    gunzip.destroy();
  }
}
