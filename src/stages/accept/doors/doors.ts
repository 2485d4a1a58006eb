// All open doors and the connections that came through them: so that they can be counted, drained, and cut at once
// when their sandbox is gone. A private socket and a namespace door belong to one sandbox and disappear with it.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { NamespaceHandles } from '../../../kit/namespace-handles.ts';
import type { OriginalDestination } from '../../../kit/original-destination.ts';
import { listenOnUnixSocket } from '../../../kit/process/unix-listen.ts';
import type { Caller } from '../../../path/flow.ts';
import type { HostPort } from '../../../path/sandbox.ts';
import { attachDns } from '../dns/dns-door.ts';
import { createLookup, noting } from '../dns/dns-lookup.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { DoorIdentity, DoorPorts, OpenConnection, Opening } from './door-ports.ts';
import { type GatewayDoor, type GatewayDoorOptions, openGatewayDoor } from './gateway-door.ts';
import { startHostPortConnection } from './host-port-door.ts';
import { type MtlsDoorOptions, openMtlsDoor } from './mtls-door.ts';
import { AskedNames, type PlainPlace, plainPlaceOf } from './plain-place.ts';
import { openProxyDoor, startProxyConnection } from './proxy-door.ts';
import { startTransparentConnection } from './transparent-door.ts';

/** The directory is private; whoever is given the socket itself (by a bind mount) may have any uid. */
export const privateSocketMode = 0o666;
const privateDoor = 'private socket';

export interface DoorsOptions {
  readonly ports: Omit<DoorPorts, 'opened' | 'identified' | 'closed'>;
  /** Who may come in, and how often. */
  readonly gate: Pick<ConnectionLimits, 'enter' | 'identified' | 'leave'>;
}

export class Doors {
  readonly #options: DoorsOptions;
  readonly #connections = new Set<OpenConnection>();
  readonly #tcp: Server[] = [];
  readonly #private = new Map<string, { readonly server: Server; readonly path: string }>();

  readonly #namespaces = new Map<string, NamespaceDoor>();
  readonly #gateways: GatewayDoor[] = [];
  #isShut = false;

  constructor(options: DoorsOptions) {
    this.#options = options;
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** How many sandboxes have a door in their namespace. */
  get namespaces(): number {
    return this.#namespaces.size;
  }

  /** Returns the address it really listens on, e.g. `127.0.0.1:8080`. */
  openTcp(host: string, port: number): Promise<string> {
    return this.#listen(this.#door(`proxy ${host}:${port}`, null), 'proxy', host, port);
  }

  /** The proxy door for those who show a certificate. Returns the address it really listens on. */
  openMtls(host: string, port: number, identities: Pick<MtlsDoorOptions, 'ca' | 'renew'>): Promise<string> {
    const server = openMtlsDoor({ name: `mtls ${host}:${port}`, ...identities }, this.#ports());
    return this.#listen(server, 'mtls', host, port);
  }

  async #listen(server: Server, kind: 'proxy' | 'mtls', host: string, port: number): Promise<string> {
    server.listen(port, host);
    try {
      await once(server, 'listening');
    } catch (cause) {
      throw new Error(
        `the ${kind} door ${host}:${port} cannot be opened (${(cause as NodeJS.ErrnoException).code}). Stop what listens there, or choose another address under listen.${kind}.`,
        { cause },
      );
    }
    surviveErrors(server);
    this.#tcp.push(server);
    const bound = server.address();
    if (bound === null || typeof bound === 'string') return `${host}:${port}`;
    return bound.family === 'IPv6' ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`;
  }

  /** A connection that came through the private socket of this sandbox, where another process listens on it. */
  takePrivate(sandboxId: string, socket: Socket): void {
    if (this.#isShut) socket.destroy();
    else startProxyConnection(socket, { name: privateDoor, socketOf: sandboxId }, this.#ports());
  }

  async openPrivate(sandboxId: string, path: string): Promise<void> {
    const server = this.#door(privateDoor, sandboxId);
    await listenOnUnixSocket(server, path, { occupant: 'a door of this sandbox', mode: privateSocketMode });
    surviveErrors(server);
    this.#private.set(sandboxId, { server, path });
  }

  /**
   * Serves sockets that listen in the sandbox's network namespace, and owns them from here on. `contextFor`: each sandbox
   * has a CA of its own.
   */
  openNamespace(
    sandboxId: string,
    handles: NamespaceHandles,
    contextFor: (host: string) => SecureContext,
    hostPorts: readonly HostPort[] = [],
  ): void {
    if (this.#namespaces.has(sandboxId)) throw new Error(`the sandbox ${sandboxId} has a namespace door already`);
    const ports = { ...this.#ports(), contextFor };
    this.#namespaces.set(sandboxId, serveNamespaceDoor(sandboxId, handles, ports, hostPorts));
  }

  /** `contextFor`: beside names it must know addresses, so that who dials one can read why not. */
  async openGateway(
    options: GatewayDoorOptions,
    contextFor: (host: string) => SecureContext,
  ): Promise<readonly string[]> {
    const door = await openGatewayDoor(options, { ...this.#ports(), contextFor });
    this.#gateways.push(door);
    return door.addresses;
  }

  /** The policy names other ports now. */
  async listenOn(ports: readonly number[]): Promise<void> {
    const changed = await Promise.allSettled(this.#gateways.map((door) => door.listenOn(ports)));
    const failed = changed.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Another policy is in force: plain connections that it does not let in end now. */
  judgeAgain(): void {
    for (const connection of this.#connections) connection.judgeAgain?.();
  }

  /** The sandbox is gone: its doors and every connection it has, at once. */
  cut(sandboxId: string): void {
    this.#namespaces.get(sandboxId)?.close();
    this.#namespaces.delete(sandboxId);
    const door = this.#private.get(sandboxId);
    if (door !== undefined) {
      this.#private.delete(sandboxId);
      door.server.close();
      rmSync(door.path, { force: true });
    }
    this.endConnections(sandboxId);
  }

  /** What it has open, and nothing that it could come back by. */
  endConnections(sandboxId: string): void {
    for (const connection of this.#connections) if (connection.sandboxId === sandboxId) connection.destroy();
  }

  /** Takes nothing new, lets what is under way end, and after `graceMs` ends the rest. */
  async drain(graceMs: number): Promise<void> {
    this.#isShut = true;
    for (const server of this.#tcp) server.close();
    for (const { server } of this.#private.values()) server.close();
    for (const door of this.#namespaces.values()) door.close();
    for (const door of this.#gateways) door.close();
    for (const connection of this.#connections) connection.close();
    const deadline = performance.now() + graceMs;
    while (this.#connections.size > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    for (const connection of this.#connections) connection.destroy();
  }

  #door(name: string, socketOf: string | null): Server {
    return openProxyDoor({ name, socketOf }, this.#ports());
  }

  #ports(): DoorPorts {
    return {
      ...this.#options.ports,
      opened: (connection) => this.#opened(connection),
      identified: (connection, sandboxId) => this.#options.gate.identified(connection, sandboxId),
      closed: (connection) => this.#closed(connection),
    };
  }

  #opened(connection: OpenConnection): Opening | Promise<Opening> {
    const opening = this.#options.gate.enter(connection);
    return opening instanceof Promise
      ? opening.then((late) => this.#let(connection, late))
      : this.#let(connection, opening);
  }

  #let(connection: OpenConnection, opening: Opening): Opening {
    if (opening !== true) return opening;
    if (this.#isShut) {
      this.#options.gate.leave(connection);
      return 'limit.connections';
    }
    this.#connections.add(connection);
    return true;
  }

  #closed(connection: OpenConnection): void {
    if (this.#connections.delete(connection)) this.#options.gate.leave(connection);
  }
}

/** An unheard error event would end the gateway: accepting may fail for want of file descriptors. */
function surviveErrors(server: Server): void {
  server.on('error', () => {});
}

// The door of one sandbox in its own network namespace: transparent on the ports of the policy, an explicit proxy for
// tools that insist, and DNS. The listening sockets are handed in; whoever connects to them is the sandbox, by nature.
interface NamespaceDoor {
  /** Takes nothing new. Connections that are open stay open. */
  close(): void;
}

function serveNamespaceDoor(
  sandboxId: string,
  handles: NamespaceHandles,
  ports: DoorPorts,
  hostPorts: readonly HostPort[],
): NamespaceDoor {
  const identity: DoorIdentity = { name: `namespace ${sandboxId}`, socketOf: sandboxId };
  const caller: Caller = { door: identity.name, address: null, socketOf: sandboxId, proxyAuthorization: null };
  const servers: Server[] = [...handles.tcp.values(), ...[...handles.hostPorts.values()].flat(), handles.proxy];
  // An unheard error event would end the gateway: accepting may fail for want of file descriptors.
  for (const server of servers) server.on('error', () => {});
  const asked = new AskedNames();
  const { plain } = ports;
  const plainAt = (place: OriginalDestination): PlainPlace | null =>
    plain === undefined ? null : plainPlaceOf(plain.places(), place, asked);
  for (const server of handles.tcp.values()) {
    server.on('connection', (socket) => {
      if (!startHostPortConnection(socket, hostPorts, identity, caller, ports))
        startTransparentConnection(socket, identity, caller, ports, plainAt);
    });
  }
  for (const server of [...handles.hostPorts.values()].flat()) {
    server.on('connection', (socket) => {
      if (!startHostPortConnection(socket, hostPorts, identity, caller, ports)) socket.on('error', () => {}).destroy();
    });
  }
  handles.proxy.on('connection', (socket) => startProxyConnection(socket.setNoDelay(true), identity, ports));
  const dns = attachDns(
    { udp: handles.dnsUdp, tcp: handles.dnsTcp },
    noting(
      createLookup(ports, caller, () => ports.answersUnknown()),
      (name) => asked.add(name),
    ),
  );
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
