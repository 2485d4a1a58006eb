// Connections a sandbox makes as if to the hosts themselves, in its own network namespace or on an internal network: the
// name comes from the TLS handshake or from Host, the address it dialled is kept and checked later. Never tunnels what the
// path did not call a tunnel; all else is read, so that a refusal can be put into words.
import { isIPv6, type Socket } from 'node:net';
import { plainAddress } from '../../../kit/canonical-address.ts';
import type { OriginalDestination } from '../../../kit/original-destination.ts';
import type { Caller } from '../../../path/flow.ts';
import { canonicalHost } from '../canonical-host.ts';
import type { ClientHello } from '../tls/client-hello.ts';
import { type ConnectionRoute, DoorConnection, undecrypted } from './door-connection.ts';
import type { DoorIdentity, DoorPorts } from './door-ports.ts';
import type { PlainPlace } from './plain-place.ts';

/** Where a connection wanted to go; null: it was reset before it was looked at. */
export type PlaceOf = (socket: Socket) => OriginalDestination | null;

/** The host of a plain connection to a place; null: what comes is read. */
type PlainAt = (place: OriginalDestination) => PlainPlace | null;

/** `caller` is the door itself: one object for all its connections, whose proof is looked up once. */
export function startTransparentConnection(
  socket: Socket,
  identity: DoorIdentity,
  caller: Caller,
  ports: DoorPorts,
  plainAt?: PlainAt,
): void {
  new TransparentConnection(socket, identity, caller, ports, placeOfSocket, plainAt).start();
}

export class TransparentConnection extends DoorConnection {
  readonly #caller: Caller;
  readonly #placeOf: PlaceOf;
  readonly #plainAt: PlainAt;

  constructor(
    socket: Socket,
    identity: DoorIdentity,
    caller: Caller,
    ports: DoorPorts,
    placeOf: PlaceOf = placeOfSocket,
    plainAt: PlainAt = () => null,
  ) {
    super(socket, identity, ports);
    this.#caller = caller;
    this.#placeOf = placeOf;
    this.#plainAt = plainAt;
  }

  protected begin(): void {
    const place = this.#placeOf(this.socket);
    this.socket.on('error', () => this.socket.destroy());
    if (place === null) {
      this.socket.destroy();
      return;
    }
    this.socket.setNoDelay(true);
    const { address, port } = place;
    const destination = isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
    const unnamed: ConnectionRoute = { target: destination, connect: null, destination };
    const plain = this.#plainAt(place);
    if (plain !== null) {
      this.passPlain('tcp', 'host' in plain ? { ...unnamed, target: `${plain.host}:${port}` } : unnamed, this.#caller, {
        fault: 'fault' in plain ? plain.fault : null,
      });
      return;
    }
    this.peek(null, unnamed, this.#caller, (bytes, hello) => {
      if (hello === null) {
        this.plain(bytes, unnamed, this.#caller);
        return;
      }
      const name = nameIn(hello);
      const route = name === null ? unnamed : { ...unnamed, target: `${name}:${port}` };
      if (name !== null && this.#isTunnel(bytes, hello, route)) this.tunnel(bytes, hello, route, this.#caller);
      // Without a name there is only the address to make a certificate for: for the refusal, which must be readable.
      else this.terminate(bytes, name ?? address, route, this.#caller);
    });
  }

  #isTunnel(bytes: Buffer, hello: ClientHello, route: ConnectionRoute): boolean {
    const exchange = this.tunnelExchange(bytes);
    return this.ports.tunnels({ caller: this.#caller, request: undecrypted('connect', route, hello), exchange });
  }
}

/** The address that was dialled is that of the socket itself. */
export function placeOfSocket({ localAddress, localPort }: Socket): OriginalDestination | null {
  const address = plainAddress(localAddress);
  return address === null || localPort === undefined ? null : { address, port: localPort };
}

function nameIn({ sni }: ClientHello): string | null {
  if (sni === null) return null;
  try {
    return canonicalHost(sni);
  } catch {
    return null;
  }
}
