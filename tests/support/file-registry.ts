// A registry with its file, as a gateway has it that shares nothing.
import { dirname } from 'node:path';
import { SandboxRegistry } from '../../src/identify/registry.ts';
import { readStored } from '../../src/identify/stored-registration.ts';
import { createEmbeddedStore } from '../../src/store/embedded-store.ts';
import { FileRegistrations } from '../../src/store/file-registrations.ts';

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
