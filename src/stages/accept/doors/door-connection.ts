// One client connection at a door, whatever the door: counted, its TLS terminated with a leaf for the name, or its bytes
// passed on where the policy says `tunnel`. How a client says where it wants to go is each door's own business. Knows
// nothing of policy.
import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { plainAddress } from '../../../kit/canonical-address.ts';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Caller, RawRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { holdLittleUnread } from '../http/client-intake.ts';
import type { ConnectionOrigin, ConnectionSettings } from '../http/connection-settings.ts';
import { H1Connection } from '../http/h1-connection.ts';
import { H2Connection } from '../http/h2-connection.ts';
import type { ClientHello } from '../tls/client-hello.ts';
import { handshakeTimeMs, peekHello } from '../tls/peek-hello.ts';
import type { Arrival, DoorIdentity, DoorPorts, OpenConnection, Opening } from './door-ports.ts';
import { TunnelExchange } from './tunnel-exchange.ts';

/** Nothing was read, so there is nobody to put it into words for: the code says which limit it is. */
const tooMany = (limit: Exclude<Opening, true>): string =>
  `HTTP/1.1 429 Too Many Requests\r\nRetry-After: ${limit === 'limit.connections' ? 5 : 1}\r\nX-Sallyport-Refused: ${limit}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
/** How much may wait for a slow client before its source is paused. */
export const highWaterMark = 256 * 1024;

/** Where a connection goes, as far as it has said so. */
export interface ConnectionRoute {
  /** `host:port`, or `address:port` where no name was said: what the journal has of a connection without a request. */
  readonly target: string;
  readonly connect: string | null;
  readonly destination: string | null;
}

export abstract class DoorConnection implements OpenConnection {
  readonly address: string | null;
  readonly socketOf: string | null;
  sandboxId: string | null;
  protected readonly socket: Socket;
  /** The TCP connection: the socket itself, or what is below it where it is TLS already. */
  protected readonly transport: Socket;
  protected readonly identity: DoorIdentity;
  protected readonly ports: DoorPorts;
  protected readonly settings: ConnectionSettings;
  protected inner: { close(): void } | null = null;
  #plain: (Arrival & { readonly exchange: TunnelExchange }) | null = null;

  constructor(socket: Socket, identity: DoorIdentity, ports: DoorPorts, transport: Socket = socket) {
    this.socket = socket;
    this.transport = transport;
    this.identity = identity;
    this.ports = ports;
    this.settings = ports.settings();
    this.address = identity.socketOf === null ? plainAddress(socket.remoteAddress) : null;
    this.socketOf = identity.socketOf;
    this.sandboxId = identity.socketOf;
    holdLittleUnread(socket);
  }

  /** What a door does with a connection that was counted. */
  protected abstract begin(): void;

  get door(): string {
    return this.identity.name;
  }

  start(): void {
    const opening = this.ports.opened(this);
    if (opening instanceof Promise) this.#startAfter(opening);
    else this.#settle(opening);
  }

  /** Where connections are counted elsewhere: nothing is read until that is known. */
  #startAfter(opening: Promise<Opening>): void {
    const early = (): void => {};
    this.socket.on('error', early);
    opening.then(
      (late) => {
        // Gone in the meantime: its place is given back.
        if (late === true && this.socket.destroyed) this.ports.closed(this);
        else this.#settle(late);
        this.socket.off('error', early);
      },
      () => this.socket.destroy(),
    );
  }

  #settle(opening: Opening): void {
    if (opening !== true) {
      this.turnAway(opening);
      return;
    }
    this.socket.on('close', () => this.ports.closed(this));
    const confirming = this.address === null ? null : this.ports.confirm(this.address);
    if (confirming === null) this.begin();
    else this.#beginAfter(confirming);
  }

  protected turnAway(opening: Exclude<Opening, true>): void {
    this.socket.on('error', () => {});
    this.socket.end(tooMany(opening), () => this.socket.destroy());
  }

  #beginAfter(confirming: Promise<void>): void {
    const early = (): void => {};
    // An unheard error event would end the gateway.
    this.socket.on('error', early);
    void confirming.then(() => {
      if (this.socket.destroyed) return;
      this.begin();
      this.socket.off('error', early);
    });
  }

  close(): void {
    // Without an inner connection it is a tunnel or a handshake: under way until it ends by itself.
    this.inner?.close();
  }

  destroy(): void {
    this.socket.destroy();
  }

  protected peek(
    rest: Buffer | null,
    route: ConnectionRoute,
    caller: Caller,
    then: (bytes: Buffer, hello: ClientHello | null) => void,
  ): void {
    peekHello(this.socket, rest, handshakeTimeMs(this.settings), (peeked) => {
      if (peeked !== null) then(peeked.bytes, peeked.hello);
      else this.fault(route, caller, 'the connection does not begin with a readable TLS ClientHello');
    });
  }

  /** `name` is the one the client will check, so that a mismatch is answered in words, not by a TLS error. */
  protected terminate(bytes: Buffer, name: string, route: ConnectionRoute, caller: Caller): void {
    let secureContext: SecureContext;
    try {
      secureContext = this.ports.contextFor(name);
    } catch (error) {
      this.fault(route, caller, 'no certificate could be made for this name', error);
      return;
    }
    this.socket.unshift(bytes);
    const options = { isServer: true, secureContext, ALPNProtocols: ['h2', 'http/1.1'], highWaterMark };
    const tls = new TLSSocket(this.socket, options);
    holdLittleUnread(tls);
    let secure = false;
    const timer = setTimeout(() => this.socket.destroy(), handshakeTimeMs(this.settings));
    tls.once('secure', () => {
      clearTimeout(timer);
      secure = true;
      this.#serveTls(tls, route, caller);
    });
    tls.once('close', () => {
      clearTimeout(timer);
      this.socket.destroy();
    });
    const failed = (error: Error): void => {
      // Mostly a client that does not trust the CA: the operator finds it in the journal.
      if (!secure) this.fault(route, caller, 'the TLS handshake with the client failed; does it trust the CA?', error);
      secure = true;
      this.socket.destroy();
    };
    tls.on('_tlsError', failed);
    tls.on('error', failed);
  }

  #serveTls(tls: TLSSocket, { connect, destination }: ConnectionRoute, caller: Caller): void {
    // What counts is the name OpenSSL saw, not what our own reader made of the bytes.
    const origin: ConnectionOrigin = { scheme: 'https', connect, destination, sni: serverNameOf(tls) };
    const serve = (request: RawRequest, exchange: Exchange): void => {
      this.ports.serve({ caller, request, exchange });
    };
    this.inner =
      tls.alpnProtocol === 'h2'
        ? new H2Connection(tls, origin, this.settings, serve, this.transport)
        : new H1Connection(tls, origin, this.settings, serve, this.transport);
  }

  /** Plain HTTP: read like any other, and judged as plain http. */
  protected plain(bytes: Buffer, { connect, destination }: ConnectionRoute, caller: Caller): void {
    this.socket.unshift(bytes);
    const origin: ConnectionOrigin = { scheme: 'http', connect, destination, sni: null };
    const serve = (request: RawRequest, exchange: Exchange): void => {
      this.ports.serve({ caller, request, exchange });
    };
    this.inner = new H1Connection(this.socket, origin, this.settings, serve, this.transport);
    this.socket.resume();
  }

  protected tunnel(bytes: Buffer, hello: ClientHello | null, route: ConnectionRoute, caller: Caller): void {
    const request = undecrypted('tunnel', route, hello);
    this.ports.serve({ caller, request, exchange: this.tunnelExchange(bytes) });
  }

  /** Nothing is read of it: it may be the other side that speaks first. What one side ends, the other may still answer. */
  protected passPlain(
    kind: 'tcp' | 'host-port',
    route: ConnectionRoute,
    caller: Caller,
    { bytes = Buffer.alloc(0), fault = null }: { readonly bytes?: Buffer; readonly fault?: Refusal | null } = {},
  ): void {
    this.socket.allowHalfOpen = true;
    const exchange = new TunnelExchange(this.socket, bytes, this.settings, this.transport, null);
    const request: RawRequest = { ...undecrypted('connect', route, null), kind, fault };
    this.#plain = { caller, request, exchange };
    this.ports.serve({ caller, request, exchange });
  }

  /** Another policy is in force: a plain connection that it would not let in ends now. Requests are judged one by one anyway. */
  judgeAgain(): void {
    if (this.#plain === null || this.socket.destroyed) return;
    const { request, exchange } = this.#plain;
    exchange.cut = this.ports.plain?.whyNoLonger(request, this.sandboxId) ?? null;
    if (exchange.cut !== null) this.socket.destroy();
  }

  protected fault(route: ConnectionRoute, caller: Caller, what: string, cause?: unknown): void {
    const request = { ...undecrypted('tunnel', route, null), fault: new Refusal('malformed.tls', what, { cause }) };
    this.ports.serve({ caller, request, exchange: this.tunnelExchange(Buffer.alloc(0)) });
  }

  protected tunnelExchange(bytes: Buffer): TunnelExchange {
    return new TunnelExchange(this.socket, bytes, this.settings, this.transport);
  }
}

/** A connection of which only the ClientHello is known, as the path sees it. */
export function undecrypted(kind: 'connect' | 'tunnel', route: ConnectionRoute, hello: ClientHello | null): RawRequest {
  return {
    protocol: 'http/1.1',
    scheme: 'https',
    method: 'CONNECT',
    target: route.target,
    authority: null,
    headers: new HeaderList(),
    connect: route.connect,
    sni: hello?.sni ?? null,
    kind,
    hiddenName: hello?.hiddenName ?? false,
    destination: route.destination,
    fault: null,
  };
}

function serverNameOf(tls: TLSSocket): string | null {
  const name: unknown = (tls as { servername?: unknown }).servername;
  return typeof name === 'string' && name !== '' ? name : null;
}
