// The proxy door for sandboxes on another host or network: TLS 1.3, and nobody comes in without a certificate that the
// identity CA signed and that is in force. OpenSSL verifies it; this file only reads whose it is. A client that fails is
// disconnected and recorded for the operator. Never resumes a session: that would skip the check.
import { constants } from 'node:crypto';
import { createServer, type Server, Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { plainAddress } from '../../../kit/canonical-address.ts';
import { Refusal } from '../../../path/refusal.ts';
import { type DoorCertificate, doorName, type IdentityCa } from '../tls/identity-ca.ts';
import { startRenewal } from '../tls/identity-connection.ts';
import { IdentityExchange } from '../tls/identity-exchange.ts';
import { readIdentity, renewalProtocol } from '../tls/identity-name.ts';
import type { RenewIdentity } from '../tls/identity-renewal.ts';
import { handshakeTimeMs, handshakeTimeoutMs } from '../tls/peek-hello.ts';
import { highWaterMark, undecrypted } from './door-connection.ts';
import type { DoorIdentity, DoorPorts, OpenConnection, Opening } from './door-ports.ts';
import { startProxyConnection } from './proxy-door.ts';

export interface MtlsDoorOptions {
  /** For the journal, e.g. `mtls 0.0.0.0:8443`. */
  readonly name: string;
  readonly ca: IdentityCa;
  readonly renew: RenewIdentity;
  readonly now?: () => number;
}

export function openMtlsDoor({ name, ca, renew, now = Date.now }: MtlsDoorOptions, ports: DoorPorts): Server {
  const identity: DoorIdentity = { name, socketOf: null };
  let certificate = ca.issueDoorCertificate();
  const secure = createTlsServer({
    ...contextOptions(ca, certificate),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1', renewalProtocol],
    handshakeTimeout: handshakeTimeoutMs,
  });
  const handshakes = new WeakMap<Socket, Handshake>();
  secure.on('secureConnection', (socket) => {
    const transport = transportOf(socket);
    if (transport === null) return;
    const shown = socket.getPeerX509Certificate();
    const certificate = shown === undefined ? null : readIdentity(shown);
    if (certificate === null) {
      handshakes.get(transport)?.settle(false);
      refuse(transport, wrongCertificate(`its alternative name is ${shown?.subjectAltName ?? 'missing'}`));
      return;
    }
    const proven = { certificate, transport };
    handshakes.get(transport)?.settle(true);
    if (socket.alpnProtocol === renewalProtocol) startRenewal(socket, identity, ports, proven, renew);
    else startProxyConnection(socket, identity, ports, proven);
  });
  secure.on('tlsClientError', (error, socket) => {
    const transport = transportOf(socket);
    if (transport === null) return;
    // A probe that only wanted to know whether somebody listens.
    if (transport.bytesRead === 0) transport.destroy();
    // What OpenSSL said of the certificate is known to the socket alone: it was closed for it.
    else if (socket.authorizationError) refuse(transport, wrongCertificate(String(socket.authorizationError)));
    else refuse(transport, failedHandshake(error));
  });

  function refuse(transport: Socket, faultFrom: FaultFrom): void {
    const { address, port } = handshakes.get(transport) ?? { address: null, port: 0 };
    const route = { target: `${doorName}:${port}`, connect: null, destination: null };
    const request = { ...undecrypted('tunnel', route, null), fault: faultFrom(address) };
    const caller = { door: name, address, socketOf: null, proxyAuthorization: null };
    ports.serve({ caller, request, exchange: new IdentityExchange(transport, false, transport.bytesRead) });
  }

  return createServer({ noDelay: true, highWaterMark }, (transport) => {
    if (now() >= certificate.renewAtMs || now() < certificate.validFromMs) {
      certificate = ca.issueDoorCertificate();
      secure.setSecureContext(contextOptions(ca, certificate));
    }
    transport.on('error', () => transport.destroy());
    const handshake = new Handshake(transport, name, ports);
    handshakes.set(transport, handshake);
    handshake.start(() => secure.emit('connection', transport));
  });
}

/** Counted like a connection until it is one: who sends nothing holds a place as well. */
class Handshake implements OpenConnection {
  readonly door: string;
  readonly address: string | null;
  readonly socketOf = null;
  readonly sandboxId = null;
  readonly port: number;
  readonly #transport: Socket;
  readonly #ports: DoorPorts;
  #timer: NodeJS.Timeout | null = null;

  constructor(transport: Socket, door: string, ports: DoorPorts) {
    this.door = door;
    // Asked now: a socket that is closed does not know.
    this.address = plainAddress(transport.remoteAddress);
    this.port = transport.localPort ?? 0;
    this.#transport = transport;
    this.#ports = ports;
  }

  /** `begin` is not called where there are too many connections. */
  start(begin: () => void): void {
    const settle = (opening: Opening): void => {
      if (opening !== true) this.#transport.destroy();
      // Gone while it was counted.
      else if (this.#transport.destroyed) this.#ports.closed(this);
      else {
        this.#transport.once('close', this.#end);
        // Closed before it has said who it is: its own limit, which the policy may change, below that of the TLS server.
        this.#timer = setTimeout(() => this.#transport.destroy(), handshakeTimeMs(this.#ports.settings()));
        begin();
      }
    };
    const opening = this.#ports.opened(this);
    if (opening instanceof Promise) opening.then(settle, () => this.#transport.destroy());
    else settle(opening);
  }

  /** `isProven`: from here on it is counted for whoever the certificate names, and not for its address. */
  settle(isProven: boolean): void {
    if (isProven) void this.#ports.identified(this, null);
    this.#end();
  }

  readonly #end = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#transport.off('close', this.#end);
    this.#ports.closed(this);
  };

  close(): void {
    this.#transport.destroy();
  }

  destroy(): void {
    this.#transport.destroy();
  }
}

type FaultFrom = (address: string | null) => Refusal;

const hint =
  'Only a certificate that came with a registration, or that the shim renewed with it, opens this door: see the identity folder of the shim.';

function wrongCertificate(why: string): FaultFrom {
  return (address) =>
    new Refusal('sandbox.proof-wrong', 'a client without a valid certificate', {
      rule: 'proof: mtls',
      hint,
      cause: `from ${address}: ${why}`,
    });
}

/** A client without a certificate; one that does not trust ours; one that speaks an older TLS, or none. */
function failedHandshake(error: Error & { readonly code?: string; readonly reason?: string }): FaultFrom {
  if (error.code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') {
    return (address) =>
      new Refusal('sandbox.proof-missing', 'a client without a valid certificate', {
        rule: 'proof: mtls',
        hint,
        cause: `from ${address}: it showed none`,
      });
  }
  return (address) =>
    new Refusal('malformed.tls', 'the TLS handshake with a client of the mTLS door failed', {
      hint: 'It must speak TLS 1.3 and trust the identity CA.',
      cause: `from ${address}: ${error.reason ?? error.message}`,
    });
}

function contextOptions(ca: IdentityCa, { cert, key }: DoorCertificate): SecureContextOptions {
  return {
    cert,
    key,
    // The only CA that clients are verified against: not the interception CA, no public one.
    ca: ca.certificatePem,
    minVersion: 'TLSv1.3',
    // A ticket would let in for hours whom the certificate no longer does.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** The TCP socket below: a reset must be one of the connection, and Node has no other way to it from a TLS server. */
function transportOf(socket: TLSSocket): Socket | null {
  const parent: unknown = Reflect.get(socket, '_parent');
  if (parent instanceof Socket) return parent;
  // A Node that does not show it: nobody comes in by this door.
  socket.destroy();
  return null;
}
