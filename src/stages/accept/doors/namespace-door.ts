// The door of one sandbox in its own network namespace: transparent on the ports of the policy, an explicit proxy for
// tools that insist, and DNS. The listening sockets are handed in; whoever connects to them is the sandbox, by nature.
import type { Server } from 'node:net';
import type { NamespaceHandles } from '../../../kit/namespace-handles.ts';
import type { Caller } from '../../../path/flow.ts';
import { attachDns } from '../dns/dns-door.ts';
import { createLookup } from '../dns/dns-lookup.ts';
import type { DoorIdentity, DoorPorts } from './door-ports.ts';
import { startProxyConnection } from './proxy-door.ts';
import { startTransparentConnection } from './transparent-door.ts';

export interface NamespaceDoor {
  /** Takes nothing new. Connections that are open stay open. */
  close(): void;
}

export function serveNamespaceDoor(sandboxId: string, handles: NamespaceHandles, ports: DoorPorts): NamespaceDoor {
  const identity: DoorIdentity = { name: `namespace ${sandboxId}`, socketOf: sandboxId };
  const caller: Caller = { door: identity.name, address: null, socketOf: sandboxId, proxyAuthorization: null };
  const servers: Server[] = [...handles.tcp.values(), handles.proxy];
  // An unheard error event would end the gateway: accepting may fail for want of file descriptors.
  for (const server of servers) server.on('error', () => {});
  for (const server of handles.tcp.values()) {
    server.on('connection', (socket) => startTransparentConnection(socket, identity, caller, ports));
  }
  handles.proxy.on('connection', (socket) => startProxyConnection(socket.setNoDelay(true), identity, ports));
  const dns = attachDns({ udp: handles.dnsUdp, tcp: handles.dnsTcp }, createLookup(ports, caller));
  let isOpen = true;
  return {
    close() {
      if (!isOpen) return;
      isOpen = false;
      for (const server of servers) server.close();
      dns.close();
    },
  };
}
