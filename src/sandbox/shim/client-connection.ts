// One connection to the shim, from its first moment: who is at the other end, may it be served, and then its bytes to the
// gateway and back. Nothing of it is read before the kernel has said whose it is.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { DoorProtocol } from './dial-gateway.ts';
import { hasEnded, type Identity, registerAgain } from './identity.ts';
import type { SparedLog } from './spared-log.ts';

export interface ConnectionPorts {
  readonly served: ReadonlySet<number>;
  /** null: it cannot be proven. */
  peerUid(client: Socket): Promise<number | null>;
  /** False: too many are being served. It is given back when the connection is closed. */
  takePlace(client: Socket): boolean;
  identity(): Identity;
  dial(identity: Identity, protocol: DoorProtocol): Promise<TLSSocket>;
  readonly log: Pick<SparedLog, 'warn'>;
}

/** Never rejects: whatever goes wrong is answered and logged. */
export async function serveClient(client: Socket, ports: ConnectionPorts): Promise<void> {
  const early = (): void => {};
  // An unheard error event would end the shim.
  client.on('error', early);
  const requestId = randomUUID();
  const refuse = (answer: ShimAnswer, detail: Readonly<Record<string, unknown>>): void => {
    ports.log.warn(answer.error, { code: answer.code, request_id: requestId, ...detail });
    if (!client.destroyed) refuseClient(client, answer, requestId);
  };

  const uid = await ports.peerUid(client).catch(() => null);
  if (uid === null) return refuse(notProven, {});
  if (!ports.served.has(uid)) return refuse(notServed(uid, ports.served), { uid });
  if (!ports.takePlace(client)) return refuse(tooMany, { uid });

  const identity = ports.identity();
  if (hasEnded(identity, Date.now())) return refuse(ended, { until: new Date(identity.validUntilMs).toISOString() });
  let gateway: TLSSocket;
  try {
    gateway = await ports.dial(identity, 'http/1.1');
  } catch (error) {
    return refuse(unreached, { error });
  }
  if (client.destroyed) {
    gateway.destroy();
    return;
  }
  relay(client, gateway, (error) => refuse(broken, error === null ? {} : { error }));
  client.off('error', early);
}

function notServed(uid: number, served: ReadonlySet<number>): ShimAnswer {
  return {
    status: 403,
    code: 'shim.uid',
    error: `this shim does not serve uid ${uid}`,
    rule: '--for-uid',
    hint: `It serves ${[...served].map((one) => `uid ${one}`).join(', ')}. The operator names others with --for-uid.`,
  };
}

const notProven: ShimAnswer = {
  status: 403,
  code: 'shim.uid',
  error: 'the shim could not prove whose connection this is',
  rule: '--for-uid',
  hint: 'Keep the connection open until it is answered, and call from the network namespace of the shim.',
};

const tooMany: ShimAnswer = {
  status: 503,
  code: 'shim.connections',
  error: 'the shim serves as many connections as it can',
  rule: 'at most 512 connections at once',
  hint: 'Close connections that are no longer used, and try again.',
};

const ended: ShimAnswer = {
  status: 502,
  code: 'shim.identity',
  error: 'the certificate of this sandbox has ended',
  rule: 'certificates live one hour and are renewed while the gateway can be reached',
  hint: `For the operator: ${registerAgain}`,
};

const unreached: ShimAnswer = {
  status: 502,
  code: 'shim.gateway',
  error: 'the shim cannot reach the gateway',
  rule: '--gateway',
  hint: 'Try again later. The operator finds the cause in the log of the shim by the request_id.',
};

const broken: ShimAnswer = {
  status: 502,
  code: 'shim.gateway',
  error: 'the gateway closed the connection without an answer',
  rule: '--gateway',
  hint: 'The operator finds the cause in the log of the shim by the request_id: is the sandbox still registered, is its certificate in force?',
};

// Bytes both ways between a client and the gateway, no faster than either side takes them. Each direction ends by itself;
// a broken one breaks the other, so that half an answer never looks whole.
/**
 * `onRefused`: the gateway ended the connection before it said anything, and the client is still there to be told. A door that
 * does not take a certificate does just that: with TLS 1.3 its side of the handshake comes last.
 */
export function relay(client: Socket, gateway: TLSSocket, onRefused: (error: Error | null) => void): void {
  let answered = false;
  let told = false;
  gateway.once('data', () => {
    answered = true;
  });
  client.on('error', () => gateway.destroy());
  client.on('close', () => {
    // In good order it has ended its side by now, and what it sent is on its way.
    if (gateway.writableEnded) gateway.destroySoon();
    else gateway.destroy();
  });
  const onNothing = (error: Error | null): boolean => {
    if (answered || told || !client.writable) return false;
    told = true;
    client.unpipe(gateway);
    onRefused(error);
    gateway.destroy();
    return true;
  };
  gateway.on('error', onNothing);
  gateway.on('end', () => {
    if (!onNothing(null)) client.end();
  });
  gateway.on('close', () => {
    if (told || client.destroyed) return;
    // What it sent is written out; nobody is left for what the client may still send.
    if (gateway.readableEnded) endInGoodOrder(client);
    else breakOff(client);
  });
  client.pipe(gateway);
  gateway.pipe(client, { end: false });
}

/** As a reset: a body that ends with its connection must not look complete. A Unix socket has none. */
function breakOff(client: Socket): void {
  if (client.remotePort === undefined) client.destroy();
  else client.resetAndDestroy();
}

// How the shim refuses. Its clients speak HTTP to a proxy, so it answers in HTTP, in the contract's form, and goes on
// reading for a moment: closing a connection with unread bytes would destroy the answer.
/** A client that goes on sending gets this long to read its answer. */
const lingerMs = 1_000;

const reasons = { 403: 'Forbidden', 502: 'Bad Gateway', 503: 'Service Unavailable' } as const;

interface ShimAnswer {
  readonly status: keyof typeof reasons;
  readonly code: 'shim.uid' | 'shim.gateway' | 'shim.identity' | 'shim.connections';
  readonly error: string;
  /** The option or the limit that decided. */
  readonly rule: string;
  readonly hint: string;
}

function refuseClient(client: Socket, answer: ShimAnswer, requestId: string): void {
  const { status, ...fields } = answer;
  const body = `${JSON.stringify({ ...fields, request_id: requestId })}\n`;
  client.write(
    [
      `HTTP/1.1 ${status} ${reasons[status]}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      `X-Sallyport-Refused: ${answer.code}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  endInGoodOrder(client);
}

/** Ends our side once everything is written, and takes the client's bytes for a moment more, to be thrown away. */
function endInGoodOrder(client: Socket): void {
  client.unpipe();
  client.on('error', () => client.destroy());
  client.on('data', () => {});
  client.resume();
  client.end(() => {
    const timer = setTimeout(() => client.destroy(), lingerMs);
    client.once('close', () => clearTimeout(timer));
  });
}
