// The login of an agent in the agent's own file. Read with the checks of a user's file and looked at again when it changes;
// written back whole and at once or not at all, with everything else in it as it was, at the place where it really is.
// No part of the file's content is ever in an error.
import { realpathSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeFileAtomically } from '../../../kit/files/atomic-file.ts';
import type { Secret } from '../../../path/secret.ts';
import { SourceError } from '../sources/secret-source.ts';
import { openUserFile, UnusableFile, type UserFile } from '../sources/user-key-file.ts';
import { isMap, type JsonMap, type LoginFormat } from './login-formats.ts';
import type { Login, LoginKeep } from './login-keep.ts';
import { withLocks } from './login-lock.ts';

export interface LoginFileOptions {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** As it is said to people: `~/.codex/auth.json`. */
  readonly shown: string;
  /** Where it must really be; null: anywhere. */
  readonly within: string | null;
  readonly format: LoginFormat;
  readonly again: string;
  /** The directories that lock it. */
  readonly locks: (path: string, realPath: string) => readonly string[];
}

/** How long a file is trusted to be unchanged. */
const recheckMs = 1000;
/** Agents write their files in place: for a moment one is empty or half there. */
const halfWrittenMs = 2000;

export class LoginFile implements LoginKeep {
  readonly #options: LoginFileOptions;
  readonly #now: () => number;
  #login: Login | null = null;
  #version = '';
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** The lock is held for a renewal: what is saved meanwhile is saved under it. */
  #isExclusive = false;
  /** A renewal is about to take the lock. Nothing is saved until it has it: else the one would wait for the other. */
  #taking: Promise<void> | null = null;
  #saving: Promise<void> | null = null;

  /** `now`: milliseconds since the epoch. */
  constructor(options: LoginFileOptions, now: () => number = Date.now) {
    this.#options = options;
    this.#now = now;
  }

  get place(): string {
    return this.#options.shown;
  }

  get again(): string {
    return this.#options.again;
  }

  load(anew = false): Login | null {
    const nowMs = this.#now();
    if (!anew && this.#version !== '' && Math.abs(nowMs - this.#checkedMs) < recheckMs) return this.#login;
    const file = this.#open();
    const version = file === null ? 'none' : versionOf(file);
    this.#checkedMs = nowMs;
    if (version === this.#version) return this.#login;
    const document = file === null ? null : documentIn(file.text);
    if (file !== null && document === null) {
      this.#version = '';
      if (this.#login !== null && Date.now() - Number(file.found.mtimeMs) < halfWrittenMs) return this.#login;
      throw new SourceError(`${this.place} is not what its agent writes: ${this.again}`);
    }
    // Read first, remembered then: what cannot be read is looked at again.
    this.#login = document === null ? null : this.#read(document);
    this.#version = version;
    return this.#login;
  }

  async exclusively<Result>(work: (login: Login | null) => Promise<Result>): Promise<Result> {
    let resolve = (): void => {};
    this.#taking = new Promise((done) => {
      resolve = done;
    });
    const taken = (): void => {
      this.#taking = null;
      resolve();
    };
    try {
      // One that is under way has the lock, or waits for it.
      await this.#saving?.catch(() => {});
      return await this.#withLock(async () => {
        this.#isExclusive = true;
        taken();
        try {
          return await work(this.load(true));
        } finally {
          this.#isExclusive = false;
          // One that was begun under the lock ends under it.
          await this.#saving?.catch(() => {});
        }
      });
    } finally {
      taken();
    }
  }

  async save(login: Login, replaceable: (refresh: Secret | null) => boolean): Promise<void> {
    while (this.#taking !== null) await this.#taking;
    const write = (): Promise<void> => this.#write(login, replaceable);
    this.#saving = this.#isExclusive ? write() : this.#withLock(write);
    return this.#saving;
  }

  async #write(login: Login, replaceable: (refresh: Secret | null) => boolean): Promise<void> {
    const file = this.#open();
    if (file === null) return;
    const document = documentIn(file.text);
    if (document === null) throw new SourceError(`${this.place} is not what its agent writes`);
    const there = this.#read(document);
    // Logged out, or logged in anew: what the user did last counts.
    if (there === null || !replaceable(there.refresh)) return;
    this.#options.format.write(document, login, this.#now());
    await replace(file, textOf(document, file.text));
  }

  #read(document: JsonMap): Login | null {
    try {
      return this.#options.format.read(document, this.#options.name);
    } catch (error) {
      if (error instanceof SourceError) throw new SourceError(`${this.place}: ${error.message}: ${this.again}`);
      throw error;
    }
  }

  #open(): UserFile | null {
    const { path, shown, within } = this.#options;
    try {
      return openUserFile(path, shown, within);
    } catch (error) {
      this.#version = '';
      if (error instanceof UnusableFile) throw new SourceError(error.message);
      throw error;
    }
  }

  async #withLock<Result>(work: () => Promise<Result>): Promise<Result> {
    const file = this.#open();
    return file === null ? work() : withLocks(this.#options.locks(this.#options.path, file.realPath), work);
  }
}

/** Claude Code's, in and beside its folder: the one of this version, then the one that older ones look for. */
export function claudeLocks(path: string): readonly string[] {
  const folder = dirname(path);
  return [join(folder, '.oauth_refresh.lock'), `${realpathSync(folder)}.lock`];
}

/** No other agent has one: this is between gateways. */
export function gatewayLocks(_path: string, realPath: string): readonly string[] {
  return [`${realPath}.sallyport-lock`];
}

/** The whole new text, with the mode and the group of the old; for its owner alone until it has them. */
export async function replace({ realPath, found }: UserFile, text: string): Promise<void> {
  const mode = Number(found.mode & 0o777n);
  await writeFileAtomically(realPath, text, mode & 0o700);
  try {
    await chown(realPath, Number(found.uid), Number(found.gid));
    await chmod(realPath, mode);
  } catch {
    // It stays with its owner, who can read it.
  }
}

function versionOf({ realPath, found }: UserFile): string {
  return `${realPath}:${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

function documentIn(text: string): JsonMap | null {
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : null;
  } catch {
    return null;
  }
}

/** As its agent had it: on one line or on many, with a line end behind it or without. */
function textOf(document: JsonMap, before: string): string {
  const indent = before.trim().includes('\n') ? 2 : undefined;
  return `${JSON.stringify(document, null, indent)}${before.endsWith('\n') ? '\n' : ''}`;
}
