// What a sandbox is handed with its registration: the door that is its own is opened here, in its namespace or as a Unix
// socket, and what it needs to come through is put together. A door that cannot be opened leaves no registration behind.

import * as z from 'zod';
import { sandboxProxyPort } from '../../kit/namespace-handles.ts';
import { hostPortText } from '../../kit/text/host-port.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { usableCredentials, usableLogins } from '../../sandbox/stubs/placeholders.ts';
import type { Doors } from '../../stages/accept/doors/doors.ts';
import { grantIdentity } from '../../stages/accept/tls/identity-ca.ts';
import type { KeptCa } from '../../stages/accept/tls/sandbox-ca.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../../stages/identify/registry/sandbox-record.ts';
import type { SecretStore } from '../../stages/inject/secret-store.ts';
import { AdminError } from '../admin/admin-error.ts';
import type { Grant } from '../admin/admin-ports.ts';
import type { ConfiguredDoors } from '../build/configured-doors.ts';
import { hostPortsOf, type NamespaceSandboxes } from './namespace-sandboxes.ts';

export interface GrantParts {
  readonly registry: SandboxRegistry;
  readonly secrets: SecretStore;
  readonly doors: Pick<Doors, 'openPrivate' | 'cut'>;
  readonly namespaces: Pick<NamespaceSandboxes, 'open'>;
  readonly policy: () => CompiledPolicy;
  readonly configured: ConfiguredDoors;
}

const keptCa = z.strictObject({ certificate: z.string().max(8192), key: z.string().max(8192) });

/** `namespace.ca`: what the sandbox trusts already, from a gateway that has died. The registry keeps nothing of it. */
export function takeKnownCa(input: unknown): { input: unknown; known: KeptCa | null } {
  const namespace: unknown = typeof input === 'object' && input !== null ? Reflect.get(input, 'namespace') : undefined;
  if (typeof namespace !== 'object' || namespace === null || !('ca' in namespace)) return { input, known: null };
  const { ca, ...rest } = namespace as Record<string, unknown>;
  const known = keptCa.safeParse(ca);
  if (!known.success)
    throw new AdminError(400, 'sandbox.invalid', 'namespace.ca: it needs certificate and key, as PEM');
  return { input: { ...(input as object), namespace: rest }, known: known.data };
}

export async function grantDoor(
  parts: GrantParts,
  record: SandboxRecord,
  secret: string | null,
  known: KeptCa | null = null,
): Promise<Grant> {
  if (record.proof.includes('mtls')) return grantCertificate(parts, record, secret);
  try {
    if (record.namespacePid !== null) return await grantNamespace(parts, record, record.namespacePid, known);
    if (record.socketPath !== null) {
      await parts.doors.openPrivate(record.id, record.socketPath);
      // Unregistered meanwhile: nobody would ever close this door.
      if (!parts.registry.holds(record)) {
        parts.doors.cut(record.id);
        throw new Error('the sandbox was gone before its door was open');
      }
      return { ...(secret !== null && { secret }), socket: record.socketPath };
    }
  } catch (error) {
    // Another one may have its id by now.
    if (parts.registry.holds(record)) await parts.registry.remove(record.id);
    if (error instanceof AdminError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
    const what = record.namespacePid === null ? 'private socket' : 'door in its namespace';
    throw new AdminError(500, 'door.socket', `the ${what} could not be opened: ${message}`, hint);
  }
  const { proxyUrl } = parts.configured;
  return { ...(secret !== null && { secret }), ...(proxyUrl !== null && { proxy_url: proxyUrl }) };
}

/** Proofs beside `mtls` must hold at the mTLS door, which has no private socket. */
async function grantCertificate(
  { registry, configured }: GrantParts,
  record: SandboxRecord,
  secret: string | null,
): Promise<Grant> {
  const { identityCa } = configured;
  if (identityCa !== null && !record.proof.includes('socket')) {
    return { ...(secret !== null && { secret }), identity: grantIdentity(identityCa, record) };
  }
  await registry.remove(record.id);
  if (identityCa === null) {
    throw new AdminError(
      409,
      'door.mtls',
      'proof: mtls needs the mTLS door, and this gateway has none',
      'Name an address for it under listen.mtls, e.g. 0.0.0.0:8443, and start the gateway again.',
    );
  }
  throw new AdminError(
    400,
    'sandbox.invalid',
    'proof: mtls and socket cannot both hold: a private socket is on this host, the mTLS door is for others',
    'Choose one of them.',
  );
}

async function grantNamespace(
  parts: GrantParts,
  record: SandboxRecord,
  pid: number,
  known: KeptCa | null,
): Promise<Grant> {
  const { githubHosts, gitHosts, credentials, registryFiles = [], tcp, run } = parts.policy();
  const { certificate, ca } = await parts.namespaces.open(record, pid, known);
  const listed = parts.secrets.list();
  const usable = usableCredentials(listed, record.credentials);
  return {
    ca_certificate: certificate,
    ...(ca !== null && { ca }),
    proxy_url: `http://127.0.0.1:${sandboxProxyPort}`,
    git_hosts: [...githubHosts, ...gitHosts],
    host_ports: hostPortsOf(record, { run }).map(hostPortText),
    plain_hosts: tcp.flatMap(({ host, ports }) => ports.map((port) => `${host.text}:${port}`)),
    credentials: [...usable],
    logins: usableLogins(listed, usable),
    placeholders: [
      ...[...usable].flatMap((credential) => {
        const placeholder = credentials.get(credential)?.placeholder;
        return placeholder === undefined ? [] : [{ credential, ...placeholder }];
      }),
      ...registryFiles.flatMap(({ path, text, credentials: its }) => {
        const credential = its.find((name) => usable.has(name));
        return credential === undefined ? [] : [{ credential, variables: [], file: { path, text }, prefix: null }];
      }),
    ],
  };
}
