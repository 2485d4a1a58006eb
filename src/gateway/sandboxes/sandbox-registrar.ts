// Registers a sandbox that has a namespace, with the gateway in this process. The way over the admin socket is in
// `run-gateway.ts`; what a launcher needs of the answer is read here for both.

import type { NamespaceGrant, SandboxRegistrar } from '../../sandbox/run/start-sandbox.ts';
import type { AdminPorts, Grant } from '../admin/admin-ports.ts';

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

export function asNamespaceGrant(id: string, grant: Grant): NamespaceGrant {
  const { ca_certificate: caCertificate, proxy_url: proxyUrl } = grant;
  if (caCertificate === undefined || proxyUrl === undefined) {
    throw new Error('the running gateway is of an older version and does not open doors in namespaces. Restart it.');
  }
  const { git_hosts: gitHosts = [], credentials = [], logins = [], placeholders = [] } = grant;
  const { host_ports: hostPorts = [], plain_hosts: plainHosts = [], published = [] } = grant;
  return { id, caCertificate, proxyUrl, gitHosts, credentials, logins, placeholders, hostPorts, plainHosts, published };
}
