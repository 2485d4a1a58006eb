// A credential in a file. Refuses a file that others could read or write, looks again when it changes, and never
// goes on with an old value once the file is bad. Symbolic links are followed (secret mounts are made of them), so
// every check is made on what was opened.
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { Secret } from '../flow/secret.ts';
import { cleanValue, maxSecretBytes, type SecretSource, SourceError } from './secret-source.ts';

/** How long a file is trusted to be unchanged: one look a second costs nothing, one a request would. */
const recheckMs = 1000;

export class FileSource implements SecretSource {
  readonly #name: string;
  readonly #path: string;
  readonly #now: () => number;
  #secret: Secret | null = null;
  #version = '';
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(name: string, path: string, now: () => number = () => performance.now()) {
    this.#name = name;
    this.#path = path;
    this.#now = now;
  }

  current(): Secret {
    const now = this.#now();
    if (this.#secret !== null && now - this.#checkedAt < recheckMs) return this.#secret;
    try {
      this.#secret = this.#look(this.#secret);
      this.#checkedAt = now;
      return this.#secret;
    } catch (error) {
      this.#secret = null;
      this.#version = '';
      throw error;
    }
  }

  #look(known: Secret | null): Secret {
    const fd = this.#open();
    try {
      const before = fstatSync(fd, { bigint: true });
      this.#check(before);
      const version = versionOf(before);
      if (known !== null && version === this.#version) return known;
      const value = cleanValue(readAll(fd), this.#path);
      // Written to while we read: use it, but read it again at the next look.
      this.#version = versionOf(fstatSync(fd, { bigint: true })) === version ? version : '';
      return new Secret(this.#name, value);
    } finally {
      closeSync(fd);
    }
  }

  #open(): number {
    if (!isAbsolute(this.#path)) throw new SourceError(`${this.#path} is not an absolute path: write the whole path`);
    try {
      // O_NONBLOCK: a FIFO must not stop the whole gateway.
      return openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      if (code === 'ENOENT') throw new SourceError(`${this.#path} does not exist: put the credential there (mode 600)`);
      if (code === 'EACCES') {
        throw new SourceError(`${this.#path} cannot be read by the gateway: run  chown ${ownUid()} ${this.#path}`);
      }
      throw new SourceError(`${this.#path} cannot be opened (${code})`);
    }
  }

  #check(found: BigIntStats): void {
    if (!found.isFile()) throw new SourceError(`${this.#path} is not a regular file`);
    if (found.uid !== BigInt(ownUid()) && found.uid !== 0n) {
      throw new SourceError(
        `${this.#path} belongs to another user (uid ${found.uid}): run  chown ${ownUid()} ${this.#path}`,
      );
    }
    if ((found.mode & 0o077n) !== 0n) {
      const mode = (found.mode & 0o777n).toString(8);
      throw new SourceError(
        `${this.#path} is open to other users (mode ${mode}): run  chmod 600 ${this.#path}  and consider the credential seen`,
      );
    }
  }
}

function versionOf(found: BigIntStats): string {
  return `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

function readAll(fd: number): Buffer {
  const buffer = Buffer.alloc(maxSecretBytes + 1);
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(fd, buffer, length, buffer.length - length, null);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function ownUid(): number {
  return process.geteuid?.() ?? 0;
}
