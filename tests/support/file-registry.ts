// A registry with its file, as a gateway has it that shares nothing.
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createEmbeddedStore } from '../../src/gateway/store/embedded-store.ts';
import { FileRegistrations } from '../../src/gateway/store/file-registrations.ts';
import { SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import { readStored } from '../../src/stages/identify/registry/stored-registration.ts';

export interface FileRegistry {
  readonly registry: SandboxRegistry;
  /** Writes what traffic has renewed. */
  close(): Promise<void>;
}

export async function openFileRegistry(path: string): Promise<FileRegistry> {
  const registrations = new FileRegistrations({ path, read: readStored });
  const registry = await SandboxRegistry.open({
    store: createEmbeddedStore({ registrations }),
    knownCredentials: () => new Set<string>(),
    socketDirectory: dirname(path),
  });
  return {
    registry,
    async close() {
      registry.close();
      await registrations.close();
    },
  };
}

interface Registered {
  readonly id: string;
  readonly expires_at: string;
}

/** What the file says, read by hand: one change after another. */
export function registeredIn(path: string): Registered[] {
  const held = new Map<string, Registered>();
  const [, ...lines] = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  for (const { put, gone, id, expires_at } of lines.flatMap((line) => JSON.parse(line))) {
    if (gone !== undefined) held.delete(gone);
    else held.set(put?.id ?? id, { ...(put ?? held.get(id)), expires_at });
  }
  return [...held.values()];
}
