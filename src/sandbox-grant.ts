// What a sandbox is handed with its registration: the door that is its own is opened here, in its namespace or as a Unix
// socket, and what it needs to come through is put together. A door that cannot be opened leaves no registration behind.
import type { Doors } from './accept/doors.ts';
import { AdminError } from './admin/admin-error.ts';
import type { Grant } from './admin/admin-ports.ts';
import type { SandboxRegistry } from './identify/registry.ts';
import type { SandboxRecord } from './identify/sandbox-record.ts';
import type { SecretStore } from './inject/secret-store.ts';
import { sandboxProxyPort } from './kit/namespace-handles.ts';
import { usableCredentials } from './launch/placeholders.ts';
import type { NamespaceSandboxes } from './namespace-sandboxes.ts';
import type { CompiledPolicy } from './policy/compiled.ts';

export interface GrantParts {
  readonly registry: SandboxRegistry;
  readonly secrets: SecretStore;
  readonly doors: Doors;
  readonly namespaces: NamespaceSandboxes;
  readonly policy: () => CompiledPolicy;
  /** The proxy door that all may use; null: there is none. */
  readonly proxyUrl: () => string | null;
}

export async function grantDoor(parts: GrantParts, record: SandboxRecord, secret: string | null): Promise<Grant> {
  try {
    if (record.namespacePid !== null) return await grantNamespace(parts, record, record.namespacePid);
    if (record.socketPath !== null) {
      await parts.doors.openPrivate(record.id, record.socketPath);
      return { ...(secret !== null && { secret }), socket: record.socketPath };
    }
  } catch (error) {
    await parts.registry.remove(record.id);
    const message = error instanceof Error ? error.message : String(error);
    const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
    const what = record.namespacePid === null ? 'private socket' : 'door in its namespace';
    throw new AdminError(500, 'door.socket', `the ${what} could not be opened: ${message}`, hint);
  }
  const proxyUrl = parts.proxyUrl();
  return { ...(secret !== null && { secret }), ...(proxyUrl !== null && { proxy_url: proxyUrl }) };
}

async function grantNamespace(parts: GrantParts, record: SandboxRecord, pid: number): Promise<Grant> {
  const { githubHosts, gitHosts } = parts.policy();
  const certificate = await parts.namespaces.open(record, pid);
  return {
    ca_certificate: certificate,
    proxy_url: `http://127.0.0.1:${sandboxProxyPort}`,
    git_hosts: [...githubHosts, ...gitHosts],
    credentials: [...usableCredentials(parts.secrets.list(), record.credentials)],
  };
}
