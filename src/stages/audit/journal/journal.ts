// The journal: what happened, for ever. Each line holds the hash of the line before it, so nothing can be edited,
// removed or swapped unseen. `append` is on the path of every request: it must not wait for the disk, and it must
// never drop a record without saying so. When the disk fails, `healthy` says so and the path stops serving.
import nodeFs from 'node:fs';
import { join } from 'node:path';
import { takeLock } from '../../../kit/files/file-lock.ts';
import { HomeInUse } from '../../../kit/files/home-in-use.ts';
import { ensurePrivateDirectory } from '../../../kit/files/secure-directory.ts';
import type { Log } from '../../../kit/text/log.ts';
import { encodeLine } from './encode-line.ts';
import { JournalDisk, type JournalFs } from './journal-disk.ts';
import { genesis, hashLine } from './journal-files.ts';
import { readTail } from './journal-tail.ts';
import { QueuedLines } from './queued-lines.ts';
import { isoTime, type NoteBody, type RecordBody } from './record.ts';
import {
  addLetGo,
  type LetGo,
  letGoNote,
  mostBytes,
  nothingWent,
  planRetention,
  type RetentionLimits,
  roomLeft,
} from './retention.ts';

export interface JournalOptions extends RetentionLimits {
  /** `<state>/journal`; made with 0700 when it is missing. */
  readonly directory: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly fs?: Partial<JournalFs>;
  readonly retryMs?: number;
  readonly maxQueued?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export type JournalState =
  | { readonly kind: 'ok' }
  /** The disk refuses writes, or records that are too young to go fill all there is; tried again every second. */
  | { readonly kind: 'failing'; readonly reason: string }
  /** What was found at the start does not hold together; a person must look at it. */
  | { readonly kind: 'broken'; readonly reason: string }
  | { readonly kind: 'closed' };

/** The record could not be taken. The message says what the operator can do. */
export class JournalUnavailableError extends Error {
  override readonly name = 'JournalUnavailableError';
}

/** From here on JournalShares gives each sandbox less, and the operator hears of it. */
const littleRoom = 1 / 2;
/** A turn that appends more than this is written at once: memory stays bounded while the disk works. */
const maxTurn = 512;
/** How long written lines may stay in the page cache, where a power cut takes them. A kill -9 does not. */
const syncEveryMs = 5000;

export class Journal {
  /** Checked before a request is served. */
  healthy = true;
  /** What the last record takes in its file. */
  lastBytes = 0;
  /** Called when `healthy` or `state` has changed, for those who cannot look each time. */
  onChange: (() => void) | null = null;
  readonly directory: string;
  readonly #log: JournalOptions['log'];
  readonly #retryMs: number;
  readonly #maxQueued: number;
  readonly #now: () => number;
  #limits: RetentionLimits;
  #disk: JournalDisk | null = null;
  #release: (() => void) | null;
  #state: JournalState = { kind: 'ok' };
  #seq = 0;
  #hash = genesis;
  readonly #queue = new QueuedLines();
  /** Taken from the queue and not yet known to be in the file; with the record that ends it. */
  #batch: { readonly bytes: Buffer; readonly seq: number; readonly hash: string } | null = null;
  #headDue: { readonly seq: number; readonly hash: string } | null = null;
  /** The batch, or what is queued when there is none, begins a new file. */
  #rotationDue = false;
  /** The number of the last file that goes when the note of it is written; 0: none. */
  #goesUpTo = 0;
  /** What the last file will have with all that is queued. */
  #fileBytes = 0;
  #letGo: LetGo = nothingWent;
  #isTurning = false;
  #isFull = false;
  #isTight = false;
  #lost = 0;
  #scheduled = false;
  #retry: NodeJS.Timeout | null = null;
  readonly #sync: NodeJS.Timeout;

  /** Throws when the place is not private or another gateway writes there; a broken chain is a state instead. */
  constructor(options: JournalOptions) {
    this.directory = options.directory;
    this.#log = options.log;
    this.#now = options.now ?? Date.now;
    this.#limits = limitsOf(options);
    this.#retryMs = options.retryMs ?? 1000;
    this.#maxQueued = options.maxQueued ?? 10_000;
    ensurePrivateDirectory(options.directory);
    this.#release = takeLock(join(options.directory, 'lock'));
    if (this.#release === null) {
      throw new HomeInUse(
        `another gateway is writing the journal in ${options.directory}. Stop it, or give this one a state directory of its own (SALLYPORT_HOME).`,
      );
    }
    this.#sync = setInterval(() => this.#disk?.syncSoon(), syncEveryMs).unref();
    try {
      this.#start({ ...nodeFs, ...options.fs });
    } catch (error) {
      clearInterval(this.#sync);
      this.#release();
      throw error;
    }
  }

  get state(): JournalState {
    return this.#state;
  }

  /** The last record taken. Kept elsewhere, it shows later whether the journal was rolled back. */
  get head(): { readonly seq: number; readonly hash: string } {
    return { seq: this.#seq, hash: this.#hash };
  }

  /** Records taken but not yet written. */
  get queued(): number {
    return this.#queue.count;
  }

  get fileCount(): number {
    return this.#disk?.fileCount ?? 0;
  }

  /** After a reload of the policy. */
  configure(limits: RetentionLimits): void {
    this.#limits = limitsOf(limits);
  }

  /** How much of what the journal may take is not held by records that are too young to go: 1 all of it, 0 none. */
  get room(): number {
    if (this.#disk === null) return 1;
    const room = roomLeft(this.#disk.files, this.#limits, this.#now(), this.#disk.freeBytes);
    if (room < littleRoom && !this.#isTight)
      this.#log.warn(
        `half of what the audit journal in ${this.directory} may take, or of what the disk has, is records that are too young to go: each sandbox may write less from here on. Raise audit.max_bytes and give it disk, or lower audit.keep_days`,
      );
    this.#isTight = room < littleRoom;
    return room;
  }

  /** Chains the record and queues it for this turn of the event loop. Returns its sequence number. */
  append(body: RecordBody | NoteBody): number {
    if (!this.healthy) this.#refuseWhenFull();
    let line = this.#queue.try(encodeLine(this.#seq + 1, this.#hash, body));
    if (this.#fileBytes > 0 && this.#fileBytes + line.length + 1 > this.#limits.maxFileBytes) {
      this.#turnToNewFile();
      // A note may have come before it.
      line = this.#queue.try(encodeLine(this.#seq + 1, this.#hash, body));
    }
    const bytes = line.length + 1;
    const seq = ++this.#seq;
    this.#hash = hashLine(line);
    this.#queue.add();
    this.#fileBytes += bytes;
    this.lastBytes = bytes;
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(this.#turn);
    } else if (this.#queue.count >= maxTurn && this.healthy) this.flush();
    return seq;
  }

  /** Records that nobody could keep, here or in a worker: that they are missing is written down as soon as it can be. */
  noteLost(count: number): void {
    if (count === 0) return;
    if (!this.healthy) {
      this.#lost += count;
      return;
    }
    const text = `${count} records could not be kept while the disk or the gateway was behind`;
    this.append({ time: isoTime(this.#now()), note: 'lost', text, count });
  }

  /** Writes what is queued, now. Never throws: trouble becomes the state. */
  flush(): void {
    if (this.#disk === null) return;
    try {
      this.#drain(this.#disk);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#isFull) this.#lookForRoom(this.#disk);
    else if (this.#state.kind === 'failing') this.#recover();
  }

  /** What was taken so far is on the disk when this returns, unless the disk fails: that becomes the state. */
  sync(): void {
    this.flush();
    try {
      if (this.healthy) this.#disk?.syncNow();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Writes, syncs and lets go. Nothing can be appended afterwards. */
  close(): void {
    if (this.#state.kind === 'closed') return;
    this.flush();
    clearInterval(this.#sync);
    if (this.#retry !== null) clearTimeout(this.#retry);
    const unwritten = this.#queue.count + (this.#batch === null ? 0 : 1);
    if (unwritten > 0) this.#log.error(`the journal is closed with records that the disk did not take`, { unwritten });
    try {
      this.#disk?.close();
    } catch (error) {
      this.#log.error('the journal could not be synced when it was closed', { error });
    }
    this.#disk = null;
    this.healthy = false;
    this.#state = { kind: 'closed' };
    this.onChange?.();
    this.#release?.();
    this.#release = null;
  }

  #start(fs: JournalFs): void {
    const { directory } = this;
    const tail = readTail(directory);
    if (tail.kind === 'broken') {
      this.healthy = false;
      const reason = `the audit journal in ${directory} does not hold together: ${tail.reason}. Nothing is served while that is so. Look at it with "sallyport audit verify". A machine that lost power can cause this; so can someone who edited it. To go on, keep it as evidence and start a new one: stop the gateway, mv ${directory} ${directory}.broken, start again.`;
      this.#state = { kind: 'broken', reason };
      this.#log.error(reason);
      return;
    }
    const found =
      tail.kind === 'continue'
        ? tail
        : { seq: 0, hash: genesis, oldest: 1, files: [], size: 0, tornBytes: 0, letGo: nothingWent };
    const [oldest] = found.files;
    this.#seq = found.seq;
    this.#hash = found.hash;
    this.#disk = new JournalDisk({
      directory,
      fs,
      files: found.files,
      size: found.size,
      head: { seq: found.seq, hash: found.hash, oldest: found.oldest },
      now: this.#now,
      onTrouble: (what, error) => this.#log.error(what, { error }),
    });
    this.#fileBytes = found.size;
    this.#letGo = found.letGo ?? nothingWent;
    if (found.letGo === null && oldest !== undefined) {
      // An older version let them go and wrote nothing of it: from here on the chain says that they are not missing.
      const count = oldest.firstSeq - 1;
      this.#letGo = { count, files: oldest.number - 1, bytes: 0, from: null, to: oldest.firstTime };
      this.append(letGoNote(this.#letGo, isoTime(this.#now())));
    }
    // A crash may have come between the note and what it says.
    this.#disk.letGo(this.#letGo.files);
    if (found.tornBytes > 0) {
      const text = `the last write was cut short by a crash; ${found.tornBytes} bytes of an unfinished record were cut off`;
      this.#log.warn(`journal: ${text}`);
      this.append({ time: isoTime(this.#now()), note: 'recovered', text, count: found.tornBytes });
      this.flush();
    }
  }

  readonly #turn = (): void => {
    this.#scheduled = false;
    // While the disk fails, the timer tries again, not every turn.
    if (this.healthy) this.flush();
  };

  #drain(disk: JournalDisk): void {
    for (;;) {
      if (this.#batch !== null) {
        const { bytes, seq, hash } = this.#batch;
        if (this.#rotationDue) disk.rotate();
        this.#rotationDue = false;
        disk.append(bytes);
        this.#batch = null;
        this.#queue.giveBack(bytes);
        this.#headDue = { seq, hash };
      }
      if (this.#headDue !== null) {
        disk.moveHead(this.#headDue.seq, this.#headDue.hash);
        this.#headDue = null;
        if (this.#goesUpTo > 0) disk.letGo(this.#goesUpTo);
        this.#goesUpTo = 0;
      }
      if (this.#queue.count === 0) return;
      this.#batch = { bytes: this.#queue.take(), seq: this.#seq, hash: this.#hash };
    }
  }

  /** Begins a new file with what comes next. Files that may go then go, and the first line of the new one says so. */
  #turnToNewFile(): void {
    if (this.#isTurning || !this.healthy) return;
    this.#isTurning = true;
    try {
      this.flush();
      // What could not be written stays in front: the file is turned when it has been.
      if (this.#disk === null || !this.healthy) return;
      const plan = planRetention(this.#disk.files, this.#limits, this.#now());
      if (!plan.fits) {
        this.#stopWhileFull();
        return;
      }
      this.#rotationDue = true;
      this.#fileBytes = 0;
      const last = plan.go.at(-1);
      if (last === undefined) return;
      const kept = this.#disk.files.find(({ number }) => number > last.number);
      this.#letGo = addLetGo(this.#letGo, plan.go, kept?.firstSeq ?? this.#seq + 1);
      this.append(letGoNote(this.#letGo, isoTime(this.#now())));
      this.#goesUpTo = last.number;
    } finally {
      this.#isTurning = false;
    }
  }

  #stopWhileFull(): void {
    this.#isFull = true;
    const most = mostBytes(this.#limits);
    const reason = `the audit journal in ${this.directory} has ${most} bytes of records that are too young to go (audit.max_bytes, audit.keep_days), so nothing is served: raise audit.max_bytes, or lower audit.keep_days`;
    if (this.#state.kind === 'ok') this.#log.error(reason);
    this.#stop(reason);
  }

  #lookForRoom(disk: JournalDisk): void {
    this.#isFull = !planRetention(disk.files, this.#limits, this.#now()).fits;
    if (this.#isFull) this.#retryLater();
    else this.#recover();
  }

  #stop(reason: string): void {
    this.healthy = false;
    this.#state = { kind: 'failing', reason };
    this.onChange?.();
    this.#retryLater();
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      this.flush();
    }, this.#retryMs).unref();
  }

  #fail(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    if (this.#state.kind === 'ok') {
      this.#log.error(
        `the audit journal in ${this.directory} cannot be written, so nothing is served until it can: free space there or repair the disk`,
        { error },
      );
    }
    this.#stop(`the audit journal in ${this.directory} cannot be written: ${why}`);
  }

  #recover(): void {
    this.healthy = true;
    this.#state = { kind: 'ok' };
    this.onChange?.();
    const lost = this.#lost;
    this.#log.info('the audit journal can be written again', { lost });
    this.#lost = 0;
    this.noteLost(lost);
  }

  #refuseWhenFull(): void {
    if (this.#state.kind === 'broken') throw new JournalUnavailableError(this.#state.reason);
    if (this.#state.kind === 'closed') throw new JournalUnavailableError('the audit journal is closed');
    // While it is full, what was under way and the refusals since still have a place, but not for ever.
    const isOver = this.#isFull && this.#fileBytes > 2 * this.#limits.maxFileBytes;
    if (this.#queue.count < this.#maxQueued && !isOver) return;
    this.#lost++;
    throw new JournalUnavailableError(
      `the audit journal cannot be written and ${this.#maxQueued} records already wait: free space in ${this.directory}`,
    );
  }
}

function limitsOf({ maxFileBytes, keepFiles, keepMs = 0, maxBytes }: RetentionLimits): RetentionLimits {
  return { maxFileBytes, keepFiles: Math.max(1, keepFiles), keepMs, ...(maxBytes !== undefined && { maxBytes }) };
}
