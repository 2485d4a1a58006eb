// The registry's copy on disk, so that a restart, also by kill -9, keeps registrations. Holds hashes, never a
// secret. A file that cannot be believed is an error with its fix, never silently an empty registry.
import { lstat, readFile } from 'node:fs/promises';
import * as z from 'zod';
import { writeFileAtomically } from '../kit/atomic-file.ts';
import { RegistrationError } from './registration-error.ts';
import { type StoredSandbox, storedSandbox } from './sandbox-record.ts';

export interface RegistryBackup {
  load(): Promise<readonly StoredSandbox[]>;
  /** Resolves when the state is on the disk. */
  save(sandboxes: readonly StoredSandbox[]): Promise<void>;
}

const fileShape = z.strictObject({ version: z.literal(1), sandboxes: z.array(storedSandbox) });

export function createFileBackup(path: string): RegistryBackup {
  return {
    load: () => load(path),
    async save(sandboxes) {
      try {
        await writeFileAtomically(path, `${JSON.stringify({ version: 1, sandboxes }, null, 1)}\n`, 0o600);
      } catch (error) {
        throw new RegistrationError(
          'registry.unwritable',
          `the registry could not be written to ${path}: ${reasonOf(error)}`,
          {
            hint: 'Make room on the disk or make the directory writable for the gateway, then try again.',
            cause: error,
          },
        );
      }
    },
  };
}

async function load(path: string): Promise<readonly StoredSandbox[]> {
  const bytes = await readPrivateFile(path);
  if (bytes === null) return [];
  let json: unknown;
  try {
    json = JSON.parse(bytes);
  } catch (error) {
    throw unreadable(path, `it is not JSON (${reasonOf(error)})`, error);
  }
  const parsed = fileShape.safeParse(json);
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    throw unreadable(path, `${first!.path.join('.') || 'the file'}: ${first!.message}`, parsed.error);
  }
  refuseDoubles(path, parsed.data.sandboxes);
  return parsed.data.sandboxes;
}

/** Null when there is no file. Whoever can write this file can register sandboxes, so it must be ours alone. */
async function readPrivateFile(path: string): Promise<string | null> {
  let found: Awaited<ReturnType<typeof lstat>>;
  try {
    found = await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unreadable(path, reasonOf(error), error);
  }
  if (!found.isFile()) throw unreadable(path, 'it is not a regular file');
  if ((found.mode & 0o077) !== 0) {
    throw new RegistrationError('registry.unreadable', `the registry ${path} is open to other users`, {
      hint: `See that its content is yours, then run: chmod 600 ${path}`,
    });
  }
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, reasonOf(error), error);
  }
}

function refuseDoubles(path: string, sandboxes: readonly StoredSandbox[]): void {
  const seen = new Set<string>();
  for (const { id, container_ip: address } of sandboxes) {
    for (const name of address === null ? [id] : [id, address]) {
      if (seen.has(name)) throw unreadable(path, `${name} is registered twice`);
      seen.add(name);
    }
  }
}

function unreadable(path: string, why: string, cause?: unknown): RegistrationError {
  return new RegistrationError('registry.unreadable', `the registry ${path} cannot be used: ${why}`, {
    hint: `Restore it from a copy, or move it away (mv ${path} ${path}.broken) and register the sandboxes again.`,
    cause,
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
