// The file of the policy, changed on a person's word: what would change is shown first, and only that is written. Written in
// place, not by a rename: a sandbox that has the file before it read-only has that one file, and would find the new one
// unguarded. (Linux takes mounts away from a name that is renamed over, in every mount namespace.) // Guards: threats.md T36
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CompiledPolicy } from '../compiled.ts';
import { loadPolicyText } from '../load/load-policy.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import { formatPolicyError } from '../schema/policy-error.ts';
import type { AllowEntry } from './allow-entry.ts';
import { addAllowEntries, CannotEdit, type EditPlace } from './edit-policy.ts';

export interface PlannedEdit {
  readonly file: string;
  /** Where the first line of it stands, from 1. */
  readonly line: number;
  /** The lines as they will stand in the file. */
  readonly added: string;
  readonly before: string;
  readonly after: string;
  /** What it will be. */
  readonly policy: CompiledPolicy;
}

/** Throws a CannotEdit: nothing is planned that does not compile. */
export async function planEdit(
  file: string,
  entries: readonly AllowEntry[],
  machine: MachineFiles,
  place: EditPlace = {},
): Promise<PlannedEdit> {
  const before = machine.readText(file);
  if (before === null) throw new CannotEdit(`${file} cannot be read`, 'See that it is there, and readable.');
  const { text: after, line, added } = addAllowEntries(before, entries, place);
  const loaded = await loadPolicyText(after, file, dirname(file), machine);
  if (!loaded.ok) {
    const errors = loaded.errors.map(formatPolicyError).join('\n');
    throw new CannotEdit(`the configuration would not be valid:\n${errors}`, 'Add the lines yourself.');
  }
  return { file, line, added, before, after, policy: loaded.policy };
}

/** Refuses when the file is not what was shown. Mode, owner, links and mounts of it stay what they are. */
export async function writeEdit({
  file,
  before,
  after,
}: Pick<PlannedEdit, 'file' | 'before' | 'after'>): Promise<void> {
  let handle: FileHandle;
  try {
    // Not blocking: what has become a named pipe meanwhile must not hold us.
    const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    handle = await open(await realpath(file), flags);
  } catch (error) {
    throw notWritable(file, error);
  }
  try {
    if (!(await handle.stat()).isFile()) throw new CannotEdit(`${file} is not a file`, 'Add the lines yourself.');
    // The same open file from here on: what is compared is what is written over.
    const old = await handle.readFile();
    if (old.toString() !== before) {
      throw new CannotEdit(`${file} has changed since it was shown`, 'Ask again, and see what would be written now.');
    }
    // What is no text was lost when it was read as one.
    if (!isUtf8(old)) throw new CannotEdit(`${file} is not text in UTF-8`, 'Add the lines yourself.');
    await replace(handle, old, Buffer.from(after));
  } catch (error) {
    throw error instanceof CannotEdit ? error : notWritable(file, error);
  } finally {
    await handle.close();
  }
}

/** Where there is no room for more, the old stays: a policy that lost its end may be one that allows more. */
async function replace(handle: FileHandle, old: Buffer, fresh: Buffer): Promise<void> {
  try {
    await overwrite(handle, fresh);
  } catch (error) {
    await overwrite(handle, old);
    throw error;
  }
}

/** One write of the whole: lines were added, so nothing old is left behind it. A watcher that reads meanwhile reads again. */
async function overwrite(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, done);
    done += bytesWritten;
  }
  await handle.truncate(bytes.length);
  await handle.sync();
}

function notWritable(file: string, error: unknown): CannotEdit {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return new CannotEdit(
    `${file} cannot be written (${code})`,
    'Add the lines yourself, where the file is kept, or let this user write it.',
  );
}
