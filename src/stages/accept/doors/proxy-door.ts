// The explicit proxy door, on TCP, on a sandbox's own Unix socket, in its network namespace or inside its mTLS: takes
// CONNECT and absolute-form requests. Knows nothing of policy: whether a CONNECT is granted, and as what, it asks the path.
import { createServer, type Server, type Socket } from 'node:net';
import type { Caller, RawRequest, ShownCertificate } from '../../../path/flow.ts';
import { canonicalHost, parseAuthority } from '../canonical-host.ts';
import type { ConnectionOrigin } from '../http/connection-settings.ts';
import { H1Connection } from '../http/h1-connection.ts';
import type { H1Exchange } from '../http/h1-exchange.ts';
import { countedAs, type ProvenClient } from '../tls/identity-name.ts';
import { type ConnectionRoute, DoorConnection, highWaterMark } from './door-connection.ts';
import type { Admitted, Arrival, DoorIdentity, DoorPorts, Opening } from './door-ports.ts';

export function openProxyDoor(identity: DoorIdentity, ports: DoorPorts): Server {
  // Half-open stays off: a client that has said all it will say and closed is a client that went away.
  return createServer({ noDelay: true, highWaterMark }, (socket) => startProxyConnection(socket, identity, ports));
}

export function startProxyConnection(
  socket: Socket,
  identity: DoorIdentity,
  ports: DoorPorts,
  proven: ProvenClient | null = null,
): void {
  new ProxyConnection(socket, identity, ports, proven).start();
}

class ProxyConnection extends DoorConnection {
  readonly countedAs: string | null;
  readonly #certificate: ShownCertificate | null;
  #caller: Caller | null = null;

  constructor(socket: Socket, identity: DoorIdentity, ports: DoorPorts, proven: ProvenClient | null) {
    super(socket, identity, ports, proven?.transport);
    this.#certificate = proven?.certificate ?? null;
    this.countedAs = this.#certificate === null ? null : countedAs(this.#certificate);
    // It is this sandbox or nobody: cut with it, also before its first request.
    this.sandboxId ??= this.#certificate?.sandboxId ?? null;
  }

  protected begin(): void {
    const origin: ConnectionOrigin = { scheme: 'http', connect: null, sni: null, destination: null };
    const serve = (request: RawRequest, exchange: H1Exchange): void => {
      const arrival = { caller: this.#callerOf(request), request, exchange };
      if (request.kind === 'connect' && request.fault === null) this.#connect(arrival, exchange);
      else this.#serve(arrival);
    };
    this.inner = new H1Connection(this.socket, origin, this.settings, serve, this.transport);
  }

  #callerOf(request: RawRequest): Caller {
    const proxyAuthorization = request.headers.get('proxy-authorization') ?? null;
    // The same proof on the same connection is the same caller: its verdict is remembered per object.
    if (this.#caller === null || this.#caller.proxyAuthorization !== proxyAuthorization) {
      const { name, socketOf } = this.identity;
      const proof = this.#certificate === null ? null : { certificate: this.#certificate };
      this.#caller = { door: name, address: this.address, socketOf, proxyAuthorization, ...proof };
    }
    return this.#caller;
  }

  #serve(arrival: Arrival): void {
    // So that it can be cut when its sandbox is gone: behind a CONNECT that is known before.
    this.sandboxId = this.ports.serve(arrival) ?? this.sandboxId;
    if (this.sandboxId === null) return;
    // The request is under way; it is the last one where its sandbox has too many connections.
    const close = (opening: Opening): void => {
      if (opening !== true) this.close();
    };
    const opening = this.ports.identified(this, this.sandboxId);
    if (opening instanceof Promise) opening.then(close, () => this.destroy());
    else close(opening);
  }

  #connect({ caller, request }: Arrival, exchange: H1Exchange): void {
    const admitted = this.ports.admit({ caller, request, exchange });
    if (admitted === null) return;
    this.sandboxId = admitted.sandboxId;
    const settle = (opening: Opening): void => {
      if (this.socket.destroyed) return;
      if (opening === true) this.#open(admitted, caller, request, exchange);
      else this.turnAway(opening);
    };
    const opening = this.ports.identified(this, admitted.sandboxId);
    if (opening instanceof Promise) opening.then(settle, () => this.destroy());
    else settle(opening);
  }

  #open({ tunnel: isTunnel, tcp }: Admitted, caller: Caller, request: RawRequest, exchange: H1Exchange): void {
    const rest = exchange.takeOver();
    this.inner = null;
    const connect = request.target;
    const route: ConnectionRoute = { target: connect, connect, destination: null };
    if (tcp) {
      this.passPlain('tcp', route, caller, rest === null ? {} : { bytes: rest });
      return;
    }
    this.peek(rest, route, caller, (bytes, hello) => {
      if (isTunnel) this.tunnel(bytes, hello, route, caller);
      else if (hello === null) this.plain(bytes, route, caller);
      else this.terminate(bytes, leafName(hello.sni, connect), route, caller);
    });
  }
}

function leafName(sni: string | null, connect: string): string {
  const { host } = parseAuthority(connect);
  if (sni === null || sni === host) return host;
  try {
    return canonicalHost(sni);
  } catch {
    return host;
  }
}
