// The journal's hands: the open file, the head, rotation and retention. Every step either happens whole or throws
// and can be tried again, and the order of steps is such that a crash between any two leaves a chain that verifies.
// Knows nothing of queues or records.
import fs from 'node:fs';
import { formatHead, type Head, headPath, journalFile } from './journal-files.ts';
import type { KeptFile } from './journal-tail.ts';
import { isoTime } from './record.ts';

/** The functions that touch the disk, so that a test can fill it. */
export type JournalFs = Pick<
  typeof fs,
  | 'openSync'
  | 'writeSync'
  | 'ftruncateSync'
  | 'fsyncSync'
  | 'fdatasyncSync'
  | 'closeSync'
  | 'unlinkSync'
  | 'fsync'
  | 'fdatasync'
  | 'statfsSync'
>;

export interface DiskOptions {
  readonly directory: string;
  readonly files: KeptFile[];
  /** Whole lines in the last of the files, in bytes; what lies after them is cut off. */
  readonly size: number;
  readonly head: Head;
  readonly fs: JournalFs;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Something failed beside the path: a sync, an old file that could not be removed. */
  readonly onTrouble: (what: string, error: unknown) => void;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_WRONLY } = fs.constants;

export class JournalDisk {
  readonly #directory: string;
  readonly #fs: JournalFs;
  readonly #files: KeptFile[];
  readonly #now: () => number;
  readonly #onTrouble: DiskOptions['onTrouble'];
  readonly #headFd: number;
  #fd: number;
  #size: number;
  #head: Head;
  #unsynced = false;

  constructor(options: DiskOptions) {
    this.#directory = options.directory;
    this.#fs = options.fs;
    this.#files = options.files;
    this.#now = options.now;
    this.#onTrouble = options.onTrouble;
    this.#head = options.head;
    this.#size = options.size;
    // The head comes before the first file: a file without a head is an alarm, a head of nothing is not.
    this.#headFd = this.#fs.openSync(headPath(this.#directory), O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    this.#overwriteHead(this.#head);
    const last = this.#files.at(-1);
    if (last === undefined) this.#fd = this.#create(1, this.#head.seq + 1);
    else {
      this.#fd = this.#fs.openSync(last.path, O_WRONLY | O_NOFOLLOW);
      this.#fs.ftruncateSync(this.#fd, this.#size);
    }
  }

  get fileCount(): number {
    return this.#files.length;
  }

  /** Oldest first; the last is the open one, as far as it is written. */
  get files(): readonly KeptFile[] {
    const open = this.#files.at(-1)!;
    return [...this.#files.slice(0, -1), { ...open, bytes: this.#size, endedMs: this.#now() }];
  }

  /** What the disk has left for us. A disk that does not say so does when it is written to. */
  get freeBytes(): number {
    try {
      const { bavail, bsize } = this.#fs.statfsSync(this.#directory);
      return bavail * bsize;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  /** Writes at a place of its own, so that trying again after half a write repeats the same bytes. */
  append(lines: Buffer): void {
    let written = 0;
    while (written < lines.length) {
      const count = this.#fs.writeSync(this.#fd, lines, written, lines.length - written, this.#size + written);
      if (count === 0) throw new Error('the disk took no bytes');
      written += count;
    }
    this.#size += lines.length;
    this.#unsynced = true;
  }

  /** Remembers the last record that is in the file. */
  moveHead(seq: number, hash: string): void {
    this.#overwriteHead({ seq, hash, oldest: this.#head.oldest });
  }

  /** Goes on in a new file. Only when the head is up to date. */
  rotate(): void {
    const old = this.#fd;
    const full = { ...this.#files.at(-1)!, bytes: this.#size, endedMs: this.#now() };
    this.#fd = this.#create(full.number + 1, this.#head.seq + 1);
    this.#files[this.#files.length - 2] = full;
    this.#size = 0;
    // In the background: tens of megabytes may still be on their way to the disk.
    this.#fs.fsync(old, (error) => {
      if (error !== null) this.#onTrouble('a finished journal file could not be synced', error);
      this.#fs.closeSync(old);
    });
  }

  /** Lets files go, up to the one with this number. Only when the note that says so is in the file and the head beyond it. */
  letGo(upTo: number): void {
    try {
      this.#syncDirectory();
      this.#retain(upTo);
    } catch (error) {
      this.#onTrouble('old journal files could not be removed', error);
    }
  }

  /** Asks for the written lines to be put on the disk, without waiting. */
  syncSoon(): void {
    if (!this.#unsynced) return;
    this.#unsynced = false;
    this.#fs.fdatasync(this.#fd, (error) => {
      // EBADF: rotated meanwhile, which syncs by itself.
      if (error !== null && error.code !== 'EBADF') this.#onTrouble('the journal could not be synced', error);
    });
  }

  /** What is written now is on the disk when this returns. */
  syncNow(): void {
    this.#fs.fdatasyncSync(this.#fd);
    this.#unsynced = false;
  }

  close(): void {
    try {
      this.#fs.fsyncSync(this.#fd);
      this.#fs.fsyncSync(this.#headFd);
    } finally {
      this.#fs.closeSync(this.#fd);
      this.#fs.closeSync(this.#headFd);
    }
  }

  #create(number: number, firstSeq: number): number {
    const file = journalFile(this.#directory, number);
    const fd = this.#fs.openSync(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    this.#files.push({ ...file, firstSeq, firstTime: isoTime(this.#now()), bytes: 0, endedMs: this.#now() });
    return fd;
  }

  #retain(upTo: number): void {
    const excess = this.#files.findIndex(({ number }) => number > upTo);
    if (excess <= 0) return;
    // First the head: a crash in between leaves a file too many, which is no alarm; a file too few would be one.
    this.#overwriteHead({ ...this.#head, oldest: this.#files[excess]!.firstSeq });
    for (let i = 0; i < excess; i++) {
      // Oldest first, and stop at the first that will not go: what is left must have no gap.
      this.#fs.unlinkSync(this.#files[0]!.path);
      this.#files.shift();
    }
  }

  #overwriteHead(head: Head): void {
    const line = formatHead(head);
    const count = this.#fs.writeSync(this.#headFd, line, 0);
    if (count !== line.length) throw new Error('the journal head was written in part');
    this.#head = head;
  }

  #syncDirectory(): void {
    const fd = this.#fs.openSync(this.#directory, O_RDONLY);
    try {
      this.#fs.fsyncSync(fd);
    } finally {
      this.#fs.closeSync(fd);
    }
  }
}
