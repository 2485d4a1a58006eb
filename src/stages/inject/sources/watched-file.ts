// The file behind a credential, as every source that has one must read it: opened once and checked on what was opened
// (symbolic links are followed: secret mounts are made of them), looked at again every second, read again when it has
// changed. Refuses a file that other users could have read, or, where it is encrypted, one that they could have written.
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { SourceError } from './secret-source.ts';

/** How long a file is trusted to be unchanged: one look a second costs nothing, one a request would. */
const recheckMs = 1000;

export interface FileRules {
  readonly maxBytes: number;
  /** Others may read it; nobody else may write it: whoever can, chooses which credential goes out. */
  readonly encrypted: boolean;
}

export class WatchedFile {
  readonly path: string;
  readonly #rules: FileRules;
  readonly #now: () => number;
  #version = '';
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(path: string, rules: FileRules, now: () => number = () => performance.now()) {
    this.path = path;
    this.#rules = rules;
    this.#now = now;
  }

  /** The content, when it is another than at the last look; null: it is the same. Throws a SourceError. */
  changed(): Buffer | null {
    const now = this.#now();
    if (now - this.#checkedAt < recheckMs) return null;
    try {
      const content = this.#look();
      this.#checkedAt = now;
      return content;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Throws a SourceError when it could not be read now. Nothing is read. */
  check(): void {
    const fd = this.#open();
    try {
      this.#check(fstatSync(fd, { bigint: true }));
    } finally {
      closeSync(fd);
    }
  }

  /** The next look is made at once, not when its second is over. */
  hurry(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
  }

  /** The next look is made at once and gives the content, changed or not. */
  forget(): void {
    this.#version = '';
    this.hurry();
  }

  #look(): Buffer | null {
    const fd = this.#open();
    try {
      const before = fstatSync(fd, { bigint: true });
      this.#check(before);
      const version = versionOf(before);
      if (version === this.#version) return null;
      const content = this.#readAll(fd);
      // Written to while we read: use it, but read it again at the next look.
      this.#version = versionOf(fstatSync(fd, { bigint: true })) === version ? version : '';
      return content;
    } finally {
      closeSync(fd);
    }
  }

  #open(): number {
    if (!isAbsolute(this.path)) throw new SourceError(`${this.path} is not an absolute path: write the whole path`);
    try {
      // O_NONBLOCK: a FIFO must not stop the whole gateway.
      return openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      if (code === 'ENOENT') throw new SourceError(`${this.path} does not exist: put the credential there (mode 600)`);
      if (code === 'EACCES') {
        throw new SourceError(`${this.path} cannot be read by the gateway: run  chown ${ownUid()} ${this.path}`);
      }
      throw new SourceError(`${this.path} cannot be opened (${code})`);
    }
  }

  #check(found: BigIntStats): void {
    if (!found.isFile()) throw new SourceError(`${this.path} is not a regular file`);
    if (found.uid !== BigInt(ownUid()) && found.uid !== 0n) {
      throw new SourceError(
        `${this.path} belongs to another user (uid ${found.uid}): run  chown ${ownUid()} ${this.path}`,
      );
    }
    const mode = (found.mode & 0o777n).toString(8);
    if (this.#rules.encrypted) {
      if ((found.mode & 0o022n) === 0n) return;
      throw new SourceError(
        `${this.path} can be changed by other users (mode ${mode}): run  chmod go-w ${this.path}  and check what is in it`,
      );
    }
    if ((found.mode & 0o077n) !== 0n) {
      throw new SourceError(
        `${this.path} is open to other users (mode ${mode}): run  chmod 600 ${this.path}  and consider the credential seen`,
      );
    }
  }

  #readAll(fd: number): Buffer {
    const buffer = Buffer.alloc(this.#rules.maxBytes + 1);
    let length = 0;
    while (length < buffer.length) {
      const count = readSync(fd, buffer, length, buffer.length - length, null);
      if (count === 0) break;
      length += count;
    }
    if (length > this.#rules.maxBytes)
      throw new SourceError(`${this.path} is larger than ${this.#rules.maxBytes} bytes`);
    return buffer.subarray(0, length);
  }
}

function versionOf(found: BigIntStats): string {
  return `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

function ownUid(): number {
  return process.geteuid?.() ?? 0;
}
