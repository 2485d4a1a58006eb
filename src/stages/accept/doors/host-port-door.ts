// A port of the sandbox's own loopback that is one of the host's: the listener says which. Only 127.0.0.1 and ::1 are, and only
// the ports that were given: whatever else is dialled in the sandbox is dialled somewhere else. // Guards: threats.md T110
import type { Socket } from 'node:net';
import { plainAddress } from '../../../kit/canonical-address.ts';
import type { Caller } from '../../../path/flow.ts';
import type { HostPort } from '../../../path/sandbox.ts';
import { DoorConnection } from './door-connection.ts';
import type { DoorIdentity, DoorPorts } from './door-ports.ts';

/** False: it was made to another place, and is not taken. */
export function startHostPortConnection(
  socket: Socket,
  hostPorts: readonly HostPort[],
  identity: DoorIdentity,
  caller: Caller,
  ports: DoorPorts,
): boolean {
  const address = plainAddress(socket.localAddress);
  const hostPort = hostPorts.find(({ inside }) => inside === socket.localPort);
  if (hostPort === undefined || (address !== '127.0.0.1' && address !== '::1')) return false;
  new HostPortConnection(socket, hostPort, identity, caller, ports).start();
  return true;
}

class HostPortConnection extends DoorConnection {
  readonly #hostPort: HostPort;
  readonly #caller: Caller;

  constructor(socket: Socket, hostPort: HostPort, identity: DoorIdentity, caller: Caller, ports: DoorPorts) {
    super(socket, identity, ports);
    this.#hostPort = hostPort;
    this.#caller = caller;
  }

  protected begin(): void {
    const { port, inside } = this.#hostPort;
    const address = plainAddress(this.socket.localAddress);
    this.socket.setNoDelay(true);
    const destination = address === '::1' ? `[::1]:${inside}` : `127.0.0.1:${inside}`;
    this.passPlain('host-port', { target: `localhost:${port}`, connect: null, destination }, this.#caller);
  }

  /** It speaks no HTTP: there is nothing to say it in. */
  protected override turnAway(): void {
    this.socket.on('error', () => {});
    this.socket.resetAndDestroy();
  }
}
