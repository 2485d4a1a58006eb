// Registers a sandbox that has a namespace, with the gateway in this process or with one behind the admin socket: two ways to
// the same registrar, told apart nowhere else.

import type { NamespaceGrant, SandboxRegistrar } from '../../sandbox/run/start-sandbox.ts';
import type { AdminClient } from '../admin/admin-client.ts';
import type { AdminPorts, Grant, HealthReport, PublicRecord } from '../admin/admin-ports.ts';

/** The gateway that lives in this command. */
export function registrarOfGateway(
  registrar: Pick<AdminPorts, 'health' | 'register' | 'renew' | 'unregister'>,
): SandboxRegistrar {
  return {
    guarded: async () => registrar.health().guarded,
    async register(registration) {
      const { record, proof } = await registrar.register(registration);
      return asNamespaceGrant(record.id, proof);
    },
    renew: async (id) => void (await registrar.renew(id)),
    unregister: async (id) => void (await registrar.unregister(id)),
  };
}

/** A gateway that runs already. */
export function registrarOfSocket(admin: AdminClient): SandboxRegistrar {
  const pathOf = (id: string) => `/internal/containers/${encodeURIComponent(id)}`;
  return {
    guarded: async () => (await admin.call<HealthReport>('GET', '/internal/health')).guarded,
    async register(registration) {
      const answer = await admin.call<PublicRecord & { grant: Grant }>('POST', '/internal/containers', registration);
      return asNamespaceGrant(answer.id, answer.grant);
    },
    renew: (id) => admin.call('POST', `${pathOf(id)}/renew`),
    unregister: (id) => admin.call('DELETE', pathOf(id)),
  };
}

function asNamespaceGrant(id: string, grant: Grant): NamespaceGrant {
  const { ca_certificate: caCertificate, proxy_url: proxyUrl } = grant;
  if (caCertificate === undefined || proxyUrl === undefined) {
    throw new Error('the running gateway is of an older version and does not open doors in namespaces. Restart it.');
  }
  const { git_hosts: gitHosts = [], credentials = [], logins = [] } = grant;
  return { id, caCertificate, proxyUrl, gitHosts, credentials, logins };
}
