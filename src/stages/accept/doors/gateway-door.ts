// The door on an internal network that many sandboxes share: DNS that gives every allowed name the door's own address, and
// transparent connections on the ports of the policy, told apart by the name they say. Who is calling is known by source
// address: Docker and the firewall vouch for it, this file does not.
import { isIPv6, type Server, type Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { plainAddress } from '../../../kit/canonical-address.ts';
import {
  loadOriginalDestination,
  type OriginalDestination,
  plainSpelling,
  type ReadOriginalDestination,
} from '../../../kit/original-destination.ts';
import type { Caller } from '../../../path/flow.ts';
import { createDnsCallers } from '../dns/dns-callers.ts';
import { serveDns } from '../dns/dns-door.ts';
import type { Arrival, DoorIdentity, DoorPorts } from './door-ports.ts';
import { dnsPort, openGatewayListeners, openGatewayPort, placeText } from './gateway-listeners.ts';
import { AskedNames, plainPlaceAtDoor } from './plain-place.ts';
import { placeOfSocket, TransparentConnection } from './transparent-door.ts';

/** What allowed names are told to be at; null: nothing of this family. */
export interface GatewayAnswers {
  readonly v4: string | null;
  readonly v6: string | null;
}

export interface GatewayDoorOptions {
  /** The one address it listens on, IPv4 or IPv6. */
  readonly address: string;
  /** Of the policy. 80 and 443 are always served, 53 is DNS whatever stands here. */
  readonly ports: readonly number[];
  /** Where other doors listen (`address:port`): a port of the policy that is taken is left to them. */
  readonly taken: readonly string[];
  readonly answers: GatewayAnswers;
  /** The sandbox that is registered at this source address; null: a stranger. */
  readonly sandboxAt: (address: string) => string | null;
}

export interface GatewayDoor {
  /** Where it listens on TCP, `address:port`. */
  readonly addresses: readonly string[];
  /** The policy names other ports now: opens what is new, then closes what is gone. Connections that are open stay open. */
  listenOn(ports: readonly number[]): Promise<void>;
  /** Takes nothing new. Connections that are open stay open. */
  close(): void;
}

const alwaysServed = [80, 443];

export async function openGatewayDoor(options: GatewayDoorOptions, ports: DoorPorts): Promise<GatewayDoor> {
  const address = plainSpelling(options.address);
  refuseEveryAddress(address);
  refuseTakenPorts(address, options.taken);
  const wanted = (named: readonly number[]): number[] => portsToServe(address, named, options.taken);
  // Before anything listens: a connection that comes while nobody takes it up would end the gateway by being reset.
  const readOriginal = await loadOriginalDestination();
  const listeners = await openGatewayListeners(address, wanted(options.ports));
  const askedBy = new LRUCache<string, AskedNames>({ max: maxCallers });
  const identity: DoorIdentity = { name: `gateway ${address}`, socketOf: null };
  const serve = (server: Server): Server =>
    server.on('connection', (socket) =>
      startGatewayConnection(socket, { address, identity, ports, readOriginal, askedBy }),
    );
  const { tcp } = listeners;
  for (const server of tcp.values()) serve(server);
  const dns = serveDns(
    { udp: [listeners.udp], tcp: listeners.dnsTcp },
    createDnsCallers({
      door: identity.name,
      voice: { addressesOf: () => options.answers, isResolver: false },
      path: ports,
      sandboxAt: options.sandboxAt,
      confirm: (caller) => ports.confirm(caller),
      given: (caller, name) => namesOf(askedBy, caller).add(name),
    }),
  );

  let isOpen = true;
  const change = async (named: readonly number[]): Promise<void> => {
    const next = wanted(named);
    const failures: Error[] = [];
    for (const port of next) {
      if (tcp.has(port)) continue;
      try {
        const server = await openGatewayPort(address, port);
        if (isOpen) tcp.set(port, serve(server));
        else server.close();
      } catch (error) {
        // One that something else has is no reason to keep the others shut.
        failures.push(error as Error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join(' '));
    for (const [port, server] of tcp) {
      if (next.includes(port)) continue;
      tcp.delete(port);
      server.close();
    }
  };
  let changing: Promise<void> = Promise.resolve();
  return {
    get addresses() {
      return [dnsPort, ...tcp.keys()].map((port) => placeText(address, port));
    },
    listenOn(named) {
      // One change after another, whatever came of the one before.
      changing = changing.catch(() => {}).then(() => change(named));
      return changing;
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      for (const server of tcp.values()) server.close();
      dns.close();
    },
  };
}

interface GatewayConnectionParts {
  readonly address: string;
  readonly identity: DoorIdentity;
  readonly ports: DoorPorts;
  readonly readOriginal: ReadOriginalDestination | null;
  /** By address. */
  readonly askedBy: LRUCache<string, AskedNames>;
}

/** More callers than one gateway serves; who is forgotten asks again. */
const maxCallers = 1024;

function namesOf(askedBy: LRUCache<string, AskedNames>, address: string): AskedNames {
  const known = askedBy.get(address) ?? new AskedNames();
  askedBy.set(address, known);
  return known;
}

function startGatewayConnection(
  socket: Socket,
  { address, identity, ports, readOriginal, askedBy }: GatewayConnectionParts,
): void {
  const from = plainAddress(socket.remoteAddress);
  const { plain } = ports;
  const caller: Caller = { door: identity.name, address: from, socketOf: null, proxyAuthorization: null };
  const atThisDoor = (arrival: Arrival): Arrival => ({
    ...arrival,
    request: { ...arrival.request, doorAddress: address },
  });
  // A connection that a rule of the firewall led here was going somewhere else: that is what it is judged by.
  const placeOf = (accepted: Socket): OriginalDestination | null => readOriginal?.(accepted) ?? placeOfSocket(accepted);
  const connection = new TransparentConnection(
    socket,
    identity,
    caller,
    {
      ...ports,
      serve(arrival) {
        const sandboxId = ports.serve(atThisDoor(arrival));
        // So that it can be cut when its sandbox is gone.
        connection.sandboxId = sandboxId ?? connection.sandboxId;
        return sandboxId;
      },
      tunnels: (arrival) => ports.tunnels(atThisDoor(arrival)),
      ...(plain !== undefined && {
        plain: {
          places: () => plain.places(),
          whyNoLonger: (request, id) => plain.whyNoLonger({ ...request, doorAddress: address }, id),
        },
      }),
    },
    placeOf,
    ({ port }) => (plain === undefined ? null : plainPlaceAtDoor(plain.places(), port, namesOf(askedBy, from ?? ''))),
  );
  connection.start();
}

/**
 * What the names are at on each of several doors: its own address, and that of the other family where it is plain which
 * one that is.
 */
export function gatewayAnswers(address: string, all: readonly string[]): GatewayAnswers {
  const isV6 = isIPv6(address);
  const others = all.filter((one) => isIPv6(one) !== isV6);
  const isOnly = all.length - others.length === 1 && others.length === 1;
  const other = isOnly ? others[0]! : null;
  return isV6 ? { v4: other, v6: address } : { v4: address, v6: other };
}

function portsToServe(address: string, named: readonly number[], taken: readonly string[]): number[] {
  const free = named.filter((port) => port !== dnsPort && takerOf(port, address, taken) === undefined);
  return [...new Set([...alwaysServed, ...free])];
}

/** Another door of ours that has this port of the address, by itself or with every address. */
function takerOf(port: number, address: string, taken: readonly string[]): string | undefined {
  return [address, '0.0.0.0', '::'].map((host) => placeText(host, port)).find((place) => taken.includes(place));
}

function refuseTakenPorts(address: string, taken: readonly string[]): void {
  for (const port of [dnsPort, ...alwaysServed]) {
    const taker = takerOf(port, address, taken);
    if (taker === undefined) continue;
    throw new Error(
      `the door ${taker} has port ${port} of ${address}, which listen.gateway needs. Give it another port or another address.`,
    );
  }
}

function refuseEveryAddress(address: string): void {
  if (address !== '0.0.0.0' && address !== '::') return;
  throw new Error(
    `listen.gateway cannot be ${address}: names are answered with this address. Write the address that this machine has on the network of the sandboxes, or its subnet such as 172.30.0.0/24.`,
  );
}
