// The file of registrations: a first line, one line for each sandbox there was when it was written, then one line for each
// batch of changes, appended. Now and then it is written anew, in one step. A line that a crash has torn was never acknowledged
// and is left out; any other damage is an error with its fix, never silently an empty registry. Holds hashes, never a secret.
import { constants } from 'node:fs';
import { lstat, open, readFile } from 'node:fs/promises';
import { removeUnfinished, writeFileAtomically } from '../../kit/files/atomic-file.ts';
import type { StoredRegistration } from '../../path/shared-store.ts';
import { HeldRegistrations } from './held-registrations.ts';

/** With fewer outdated changes than this beyond what lives, writing anew does not pay. */
const spareChanges = 1_000;
const firstLine = /^\{"version":2,"sandboxes":(\d+)\}\n/;
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;

export type RegistryChange =
  | { readonly put: StoredRegistration }
  /** Its end has moved. */
  | { readonly end: Pick<StoredRegistration, 'id' | 'expiresAtMs'> }
  | { readonly gone: string };

export interface RegistryFileOptions {
  readonly path: string;
  /** A sandbox as the file has it. Throws an Error that says what is wrong with it. */
  readonly read: (sandbox: unknown) => StoredRegistration;
}

/** The file cannot be read or written: what to do about it is in `hint`. */
export class RegistryFileError extends Error {
  override readonly name = 'RegistryFileError';
  readonly status = 500;
  readonly code: 'registry.unreadable' | 'registry.unwritable';
  readonly hint: string;

  constructor(code: RegistryFileError['code'], message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
  }
}

interface Left {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
}

export class RegistryFile {
  readonly #options: RegistryFileOptions;
  /** The file as it was left here. Null: what is there must be written anew. */
  #left: Left | null = null;
  #outdated = 0;

  constructor(options: RegistryFileOptions) {
    this.#options = options;
  }

  /** What was last written is all there is in it. */
  get isKnown(): boolean {
    return this.#left !== null;
  }

  async load(): Promise<HeldRegistrations> {
    const { path } = this.#options;
    this.#left = null;
    await removeUnfinished(path);
    const found = await readPrivateFile(path);
    if (found === null) return new HeldRegistrations();
    const head = firstLine.exec(found.text);
    if (head === null) return this.#readFirstForm(found.text);
    const written = Number(head[1]);
    const { lines, isTorn } = linesIn(found.text.slice(head[0].length), written);
    if (lines.length < written) {
      throw unreadable(path, `${written} sandboxes were written to it, and ${lines.length} are there`);
    }
    const held = new HeldRegistrations();
    for (const [index, line] of lines.entries()) this.#readLine(held, `line ${index + 2}`, line);
    this.#outdated = lines.length - written;
    if (!isTorn) this.#left = found.left;
    return held;
  }

  /** So much in it is outdated that writing all of it anew pays. */
  isLong(living: number): boolean {
    return this.#outdated > living + spareChanges;
  }

  /** False: it is not there as it was left, so it must be written anew. */
  async append(changes: readonly RegistryChange[]): Promise<boolean> {
    const left = this.#left;
    // Until it is known what of this is on the disk.
    this.#left = null;
    if (left === null) return false;
    // Whatever is wrong with it, writing it anew will say.
    const file = await open(this.#options.path, appending).catch(() => null);
    if (file === null) return false;
    const line = Buffer.from(lineOf(changes));
    try {
      const { dev, ino, size } = await file.stat();
      if (dev !== left.dev || ino !== left.ino || size !== left.size) return false;
      await file.writeFile(line).catch(async (error: unknown) => {
        // Half a line must not stand before the next one.
        await file.truncate(left.size);
        this.#left = left;
        throw error;
      });
      await file.sync();
    } catch (error) {
      throw unwritable(this.#options.path, error);
    } finally {
      await file.close();
    }
    this.#left = { ...left, size: left.size + line.length };
    this.#outdated += changes.length;
    return true;
  }

  /** In one step: a crash leaves the old file or the new one. */
  async write(all: readonly StoredRegistration[]): Promise<void> {
    const { path } = this.#options;
    this.#left = null;
    const lines = all.map((put) => lineOf([{ put }]));
    try {
      await writeFileAtomically(path, `{"version":2,"sandboxes":${all.length}}\n${lines.join('')}`, 0o600);
      const { dev, ino, size } = await lstat(path);
      this.#left = { dev, ino, size };
      this.#outdated = 0;
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  #readLine(held: HeldRegistrations, where: string, line: string): void {
    const { path } = this.#options;
    let changes: unknown;
    try {
      changes = JSON.parse(line);
    } catch (error) {
      throw unreadable(path, `${where} is not JSON (${reasonOf(error)})`, error);
    }
    if (!Array.isArray(changes)) throw unreadable(path, `${where} is not a list of changes`);
    for (const change of changes as Readonly<Record<string, unknown>>[]) {
      const { put, gone, id, expires_at: end } = change ?? {};
      const keys = Object.keys(change ?? {}).join();
      if (keys === 'put,expires_at') this.#put(held, where, { ...(put as object), expires_at: end });
      else if (keys === 'gone' && typeof gone === 'string') held.delete(gone);
      else if (keys === 'id,expires_at' && typeof id === 'string') this.#move(held, where, id, Date.parse(String(end)));
      else throw unreadable(path, `${where} has a change that is not known`);
    }
  }

  #put(held: HeldRegistrations, where: string, sandbox: unknown): void {
    const { path, read } = this.#options;
    let registration: StoredRegistration;
    try {
      registration = read(sandbox);
    } catch (error) {
      throw unreadable(path, `${where}: ${reasonOf(error)}`, error);
    }
    const taken = held.takenFrom(registration);
    if (taken !== null) throw unreadable(path, `${where}: ${taken.claim} is registered twice`);
    held.put(registration);
  }

  #move(held: HeldRegistrations, where: string, id: string, expiresAtMs: number): void {
    const one = held.get(id);
    if (one === undefined || Number.isNaN(expiresAtMs)) {
      throw unreadable(this.#options.path, `${where} moves the end of ${id}, which is not registered there`);
    }
    held.put({ ...one, expiresAtMs });
  }

  /** As versions up to 0.1 wrote it: one JSON document. The next change writes it anew. */
  #readFirstForm(text: string): HeldRegistrations {
    const { path } = this.#options;
    const held = new HeldRegistrations();
    for (const [index, sandbox] of sandboxesIn(path, text).entries()) {
      const before = held.size;
      this.#put(held, `sandboxes.${index}`, sandbox);
      if (held.size === before) throw unreadable(path, `sandboxes.${index}: its id is registered twice`);
    }
    return held;
  }
}

function lineOf(changes: readonly RegistryChange[]): string {
  const texts = changes.map((change) => {
    if ('gone' in change) return JSON.stringify(change);
    const { id, expiresAtMs } = 'put' in change ? change.put : change.end;
    const end = `"expires_at":"${new Date(expiresAtMs).toISOString()}"`;
    // The end of a registration is moved without its body.
    return 'put' in change ? `{"put":${change.put.body},${end}}` : `{"id":${JSON.stringify(id)},${end}}`;
  });
  return `[${texts.join()}]\n`;
}

/**
 * A line that was appended last may lack its end, or have the zeros of a page that never reached the disk: nobody was told of
 * it. What was written in one step is whole.
 */
function linesIn(text: string, written: number): { readonly lines: readonly string[]; readonly isTorn: boolean } {
  const lines = text.split('\n');
  const rest = lines.pop()!;
  if (rest !== '') return { lines, isTorn: true };
  const isTorn = lines.length > written && lines.at(-1)!.includes('\0');
  return { lines: isTorn ? lines.slice(0, -1) : lines, isTorn };
}

function sandboxesIn(path: string, text: string): unknown[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw unreadable(path, `it is not JSON (${reasonOf(error)})`, error);
  }
  if (typeof json !== 'object' || json === null) throw unreadable(path, 'it is not a JSON object');
  const { version, sandboxes, ...others } = json as Readonly<Record<string, unknown>>;
  if (version !== 1) throw unreadable(path, 'version: not one that this gateway knows');
  if (!Array.isArray(sandboxes)) throw unreadable(path, 'sandboxes: not a list');
  if (Object.keys(others).length > 0) throw unreadable(path, 'it has a key that is not known');
  return sandboxes;
}

/** Null when there is no file. Whoever can write this file can register sandboxes, so it must be ours alone. */
async function readPrivateFile(path: string): Promise<{ readonly text: string; readonly left: Left } | null> {
  let found: Awaited<ReturnType<typeof lstat>>;
  try {
    found = await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unreadable(path, reasonOf(error), error);
  }
  if (!found.isFile()) throw unreadable(path, 'it is not a regular file');
  if ((found.mode & 0o077) !== 0) {
    const hint = `See that its content is yours, then run: chmod 600 ${path}`;
    throw new RegistryFileError('registry.unreadable', `the registry ${path} is open to other users`, hint);
  }
  try {
    const { dev, ino, size } = found;
    return { text: await readFile(path, 'utf8'), left: { dev, ino, size } };
  } catch (error) {
    throw unreadable(path, reasonOf(error), error);
  }
}

function unreadable(path: string, why: string, cause?: unknown): RegistryFileError {
  const hint = `Restore it from a copy, or move it away (mv ${path} ${path}.broken) and register the sandboxes again.`;
  return new RegistryFileError('registry.unreadable', `the registry ${path} cannot be used: ${why}`, hint, cause);
}

function unwritable(path: string, cause: unknown): RegistryFileError {
  const message = `the registry could not be written to ${path}: ${reasonOf(cause)}`;
  const hint = 'Make room on the disk or make the directory writable for the gateway, then try again.';
  return new RegistryFileError('registry.unwritable', message, hint, cause);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
