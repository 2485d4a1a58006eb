// The explicit proxy door, on TCP or on a sandbox's own Unix socket: takes CONNECT and absolute-form requests, and
// behind a CONNECT terminates TLS with a leaf for the name, or passes the bytes on where the policy says `tunnel`.
// Knows nothing of policy: whether a CONNECT is granted, and as what, it asks the path.
import { createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Exchange } from '../flow/exchange.ts';
import type { Caller, RawRequest } from '../flow/flow.ts';
import { HeaderList } from '../flow/header-list.ts';
import { Refusal } from '../flow/refusal.ts';
import { canonicalHost, parseAuthority } from './canonical-host.ts';
import { type ClientHello, readClientHello } from './client-hello.ts';
import { type ConnectionOrigin, type ConnectionSettings, H1Connection } from './h1-connection.ts';
import type { H1Exchange } from './h1-exchange.ts';
import { H2Connection } from './h2-connection.ts';
import { TunnelExchange } from './tunnel-exchange.ts';

export interface Arrival {
  readonly caller: Caller;
  readonly request: RawRequest;
  readonly exchange: Exchange;
}

/** What the door needs from the rest of the gateway. */
export interface DoorPorts {
  /** Runs the whole path for a request. Returns the sandbox it turned out to come from. */
  serve(arrival: Arrival): string | null;
  /** Judges a CONNECT: null when it was refused (and answered), else how to go on. */
  admit(arrival: Arrival): { readonly tunnel: boolean; readonly sandboxId: string } | null;
  contextFor(host: string): SecureContext;
  settings(): ConnectionSettings;
  /** False: too many connections, this one is closed at once. */
  opened(connection: OpenConnection): boolean;
  closed(connection: OpenConnection): void;
}

/** A client connection as the service sees it: to count, to drain, to cut when its sandbox is gone. */
export interface OpenConnection {
  readonly address: string | null;
  readonly socketOf: string | null;
  readonly sandboxId: string | null;
  /** Ends it when what is under way has ended. */
  close(): void;
  destroy(): void;
}

export interface DoorIdentity {
  readonly name: string;
  /** Set on a private socket: the only sandbox it serves. */
  readonly socketOf: string | null;
}

const tooManyConnections =
  'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nX-Sallyport-Refused: limit.connections\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
/** How much may wait for a slow client before its source is paused. */
const highWaterMark = 256 * 1024;
const handshakeTimeoutMs = 15_000;
const maxHelloBytes = 40 * 1024;

export function openProxyDoor(identity: DoorIdentity, ports: DoorPorts): Server {
  // Half-open stays off: a client that has said all it will say and closed is a client that went away.
  return createServer({ noDelay: true, highWaterMark }, (socket) => {
    new DoorConnection(socket, identity, ports).start();
  });
}

interface Inner {
  close(): void;
}

class DoorConnection implements OpenConnection {
  readonly address: string | null;
  readonly socketOf: string | null;
  sandboxId: string | null;
  readonly #socket: Socket;
  readonly #identity: DoorIdentity;
  readonly #ports: DoorPorts;
  readonly #settings: ConnectionSettings;
  #inner: Inner | null = null;
  #caller: Caller | null = null;

  constructor(socket: Socket, identity: DoorIdentity, ports: DoorPorts) {
    this.#socket = socket;
    this.#identity = identity;
    this.#ports = ports;
    this.#settings = ports.settings();
    this.address = identity.socketOf === null ? plainAddress(socket.remoteAddress) : null;
    this.socketOf = identity.socketOf;
    this.sandboxId = identity.socketOf;
  }

  close(): void {
    // Without an inner connection it is a tunnel or a handshake: under way until it ends by itself.
    this.#inner?.close();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  start(): void {
    if (!this.#ports.opened(this)) {
      this.#socket.on('error', () => {});
      this.#socket.end(tooManyConnections, () => this.#socket.destroy());
      return;
    }
    this.#socket.on('close', () => this.#ports.closed(this));
    const origin: ConnectionOrigin = { scheme: 'http', connect: null, sni: null };
    this.#inner = new H1Connection(this.#socket, origin, this.#settings, (request, exchange) => {
      const arrival = { caller: this.#callerOf(request), request, exchange };
      if (request.kind === 'connect' && request.fault === null) this.#connect(arrival, exchange);
      // So that it can be cut when its sandbox is gone: behind a CONNECT that is known before.
      else this.sandboxId = this.#ports.serve(arrival) ?? this.sandboxId;
    });
  }

  #callerOf(request: RawRequest): Caller {
    const proxyAuthorization = request.headers.get('proxy-authorization') ?? null;
    // The same proof on the same connection is the same caller: its verdict is remembered per object.
    if (this.#caller === null || this.#caller.proxyAuthorization !== proxyAuthorization) {
      const { name, socketOf } = this.#identity;
      this.#caller = { door: name, address: this.address, socketOf, proxyAuthorization };
    }
    return this.#caller;
  }

  #connect(arrival: Arrival, exchange: H1Exchange): void {
    const admitted = this.#ports.admit(arrival);
    if (admitted === null) return;
    this.sandboxId = admitted.sandboxId;
    const rest = exchange.takeOver();
    this.#inner = null;
    const connect = arrival.request.target;
    this.#peek(rest, connect, arrival.caller, (bytes, hello) => {
      if (admitted.tunnel) this.#tunnel(bytes, hello, connect, arrival.caller);
      else if (hello === null) this.#plain(bytes, connect, arrival.caller);
      else this.#terminate(bytes, hello, connect, arrival.caller);
    });
  }

  /** Waits for the first bytes of the client until they are a whole ClientHello, or plainly none. */
  #peek(
    rest: Buffer | null,
    connect: string,
    caller: Caller,
    then: (bytes: Buffer, hello: ClientHello | null) => void,
  ): void {
    const socket = this.#socket;
    let bytes = rest ?? Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), handshakeTimeoutMs);
    const settle = (): boolean => {
      const reading = readClientHello(bytes);
      if (reading.state === 'more' && bytes.length <= maxHelloBytes) return false;
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      socket.pause();
      if (reading.state === 'read') then(bytes, reading.hello);
      else if (reading.state === 'not-tls') then(bytes, null);
      else this.#fault(connect, caller, 'the tunnel does not begin with a readable TLS ClientHello');
      return true;
    };
    const onData = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      settle();
    };
    const onClose = (): void => clearTimeout(timer);
    socket.on('data', onData).on('close', onClose);
    if (!settle()) socket.resume();
  }

  #terminate(bytes: Buffer, hello: ClientHello, connect: string, caller: Caller): void {
    // The certificate is for the name the client will check, so that a mismatch is answered in words, not by a TLS error.
    let secureContext: SecureContext;
    try {
      secureContext = this.#ports.contextFor(leafName(hello.sni, connect));
    } catch (error) {
      this.#fault(connect, caller, 'no certificate could be made for this name', error);
      return;
    }
    this.#socket.unshift(bytes);
    const options = { isServer: true, secureContext, ALPNProtocols: ['h2', 'http/1.1'], highWaterMark };
    const tls = new TLSSocket(this.#socket, options);
    let secure = false;
    const timer = setTimeout(() => this.#socket.destroy(), handshakeTimeoutMs);
    tls.once('secure', () => {
      clearTimeout(timer);
      secure = true;
      // node:http2 waits for this otherwise; a tls.Server clears it, a bare TLSSocket does not.
      Reflect.set(tls, 'secureConnecting', false);
      // What counts is the name OpenSSL saw, not what our own reader made of the bytes.
      const sni = serverNameOf(tls);
      const origin: ConnectionOrigin = { scheme: 'https', connect, sni };
      const serve = (request: RawRequest, exchange: Exchange): void => {
        this.#ports.serve({ caller, request, exchange });
      };
      this.#inner =
        tls.alpnProtocol === 'h2'
          ? new H2Connection(tls, origin, this.#settings, serve)
          : new H1Connection(tls, origin, this.#settings, serve, this.#socket);
    });
    tls.once('close', () => {
      clearTimeout(timer);
      this.#socket.destroy();
    });
    const failed = (error: Error): void => {
      // Mostly a client that does not trust the CA: the operator finds it in the journal.
      if (!secure)
        this.#fault(connect, caller, 'the TLS handshake with the client failed; does it trust the CA?', error);
      secure = true;
      this.#socket.destroy();
    };
    tls.on('_tlsError', failed);
    tls.on('error', failed);
  }

  /** Plain HTTP inside a CONNECT: read like any other, and judged as plain http. */
  #plain(bytes: Buffer, connect: string, caller: Caller): void {
    this.#socket.unshift(bytes);
    const origin: ConnectionOrigin = { scheme: 'http', connect, sni: null };
    this.#inner = new H1Connection(this.#socket, origin, this.#settings, (request, exchange) => {
      this.#ports.serve({ caller, request, exchange });
    });
    this.#socket.resume();
  }

  #tunnel(bytes: Buffer, hello: ClientHello | null, connect: string, caller: Caller): void {
    const request = tunnelRequest(connect, hello?.sni ?? null, hello?.hiddenName ?? false, null);
    this.#ports.serve({ caller, request, exchange: new TunnelExchange(this.#socket, bytes) });
  }

  #fault(connect: string, caller: Caller, what: string, cause?: unknown): void {
    const request = tunnelRequest(connect, null, false, new Refusal('malformed.tls', what, { cause }));
    this.#ports.serve({ caller, request, exchange: new TunnelExchange(this.#socket, Buffer.alloc(0)) });
  }
}

function tunnelRequest(connect: string, sni: string | null, hiddenName: boolean, fault: Refusal | null): RawRequest {
  const headers = new HeaderList();
  return {
    protocol: 'http/1.1',
    scheme: 'https',
    method: 'CONNECT',
    target: connect,
    authority: null,
    headers,
    connect,
    sni,
    kind: 'tunnel',
    hiddenName,
    fault,
  };
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

/** A dual-stack listener shows IPv4 clients as mapped IPv6. */
function plainAddress(address: string | undefined): string | null {
  if (address === undefined) return null;
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

function serverNameOf(tls: TLSSocket): string | null {
  const name: unknown = (tls as { servername?: unknown }).servername;
  return typeof name === 'string' && name !== '' ? name : null;
}
