// A connection on which a sandbox renews its identity: one line with a public key, one line with a certificate or with the
// reason why there is none. Knows nothing of registrations: whether it may, it asks.
import type { Socket } from 'node:net';
import * as z from 'zod';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Caller, RawRequest, ShownCertificate } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { DoorConnection } from '../doors/door-connection.ts';
import type { DoorIdentity, DoorPorts } from '../doors/door-ports.ts';
import { doorName } from './identity-ca.ts';
import { IdentityExchange } from './identity-exchange.ts';
import { countedAs, type ProvenClient } from './identity-name.ts';
import type { RenewIdentity } from './identity-renewal.ts';
import { handshakeTimeMs } from './peek-hello.ts';

/** A P-256 key in PEM and JSON is some 200 bytes. */
const maxLineBytes = 4096;
const lineFeed = 0x0a;

const renewalRequest = z.strictObject({ public_key: z.string() });

export function startRenewal(
  socket: Socket,
  identity: DoorIdentity,
  ports: DoorPorts,
  proven: ProvenClient,
  renew: RenewIdentity,
): void {
  new RenewalConnection(socket, identity, ports, proven, renew).start();
}

class RenewalConnection extends DoorConnection {
  readonly countedAs: string;
  readonly #certificate: ShownCertificate;
  readonly #renew: RenewIdentity;

  constructor(socket: Socket, identity: DoorIdentity, ports: DoorPorts, proven: ProvenClient, renew: RenewIdentity) {
    super(socket, identity, ports, proven.transport);
    this.#certificate = proven.certificate;
    this.#renew = renew;
    this.sandboxId = proven.certificate.sandboxId;
    this.countedAs = countedAs(proven.certificate);
  }

  protected begin(): void {
    const { socket } = this;
    const timer = setTimeout(() => socket.destroy(), handshakeTimeMs(this.settings));
    let line = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      line = Buffer.concat([line, chunk]);
      if (line.length <= maxLineBytes && !line.includes(lineFeed)) return;
      socket.off('data', onData);
      this.#answer(line);
    };
    socket.on('data', onData);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => clearTimeout(timer));
  }

  #answer(line: Buffer): void {
    const { name } = this.identity;
    const caller: Caller = {
      door: name,
      address: this.address,
      socketOf: null,
      proxyAuthorization: null,
      certificate: this.#certificate,
    };
    try {
      const issued = this.#renew(caller, readKey(line));
      this.socket.end(`${JSON.stringify(issued)}\n`);
    } catch (error) {
      const fault = error instanceof Refusal ? error : ourFault(error);
      const exchange = new IdentityExchange(this.socket, true, line.length);
      this.ports.serve({ caller, request: renewalOf(this.socket.localPort, fault), exchange });
    }
  }
}

function readKey(line: Buffer): string {
  const parsed = renewalRequest.safeParse(parseLine(line));
  if (parsed.success) return parsed.data.public_key;
  throw new Refusal('malformed.syntax', 'a renewal is one line of JSON: {"public_key": "…"}', {
    hint: `It has at most ${maxLineBytes} bytes, ends with a line feed, and nothing comes after it.`,
  });
}

function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return null;
  }
}

function ourFault(cause: unknown): Refusal {
  return new Refusal('internal.error', 'the gateway could not issue a certificate', { cause });
}

/** For the journal. It is never anything but refused: it carries its fault. */
function renewalOf(port: number | undefined, fault: Refusal): RawRequest {
  return {
    protocol: 'http/1.1',
    scheme: 'https',
    method: 'RENEW',
    target: `https://${doorName}:${port ?? 0}/identity`,
    authority: null,
    headers: new HeaderList(),
    connect: null,
    sni: null,
    kind: 'http',
    hiddenName: false,
    destination: null,
    fault,
  };
}
