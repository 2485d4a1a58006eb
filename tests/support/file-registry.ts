// A registry with its file, as a gateway has it that shares nothing.
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
