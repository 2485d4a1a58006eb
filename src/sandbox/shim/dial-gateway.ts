// One mTLS connection to the gateway. The other end must prove with a certificate of the identity CA that it is the
// door, whatever address was dialled; the certificate of another sandbox, signed by the same CA, is not enough. Never
// resumes a session, never speaks anything older than TLS 1.3.
import { X509Certificate } from 'node:crypto';
import { type ConnectionOptions, connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import type { Identity } from './identity.ts';
import { type ShimEndpoint, showEndpoint } from './places.ts';

/** The name in the certificate of every gateway's mTLS door. */
export const doorName = 'door.sallyport.internal';
const serverAuth = '1.3.6.1.5.5.7.3.1';
const connectTimeoutMs = 10_000;

export type DoorProtocol = 'http/1.1' | 'sallyport-identity/1';

/** The gateway cannot be had; the message is for the log of the shim. */
export class GatewayUnreached extends Error {
  override readonly name = 'GatewayUnreached';
}

export function dialGateway(
  gateway: ShimEndpoint,
  identity: Identity,
  protocol: DoorProtocol,
  timeoutMs = connectTimeoutMs,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options: ConnectionOptions & { readonly allowHalfOpen: boolean } = {
      host: gateway.host,
      port: gateway.port,
      servername: doorName,
      ALPNProtocols: [protocol],
      secureContext: identity.context,
      // Said outright: NODE_TLS_REJECT_UNAUTHORIZED would change it otherwise.
      rejectUnauthorized: true,
      checkServerIdentity: checkDoor,
      // One side may be done while the other still sends.
      allowHalfOpen: true,
    };
    const socket = connect(options);
    const fail = (problem: string, cause?: unknown): void => {
      clearTimeout(timer);
      socket.on('error', () => {});
      socket.destroy();
      reject(new GatewayUnreached(`${showEndpoint(gateway)}: ${problem}`, cause === undefined ? {} : { cause }));
    };
    const timer = setTimeout(() => fail(`no answer in ${timeoutMs / 1000} seconds`), timeoutMs);
    const onError = (error: Error): void => fail(inWords(error), error);
    const onClose = (): void => fail('it closed the connection at once');
    socket.once('error', onError);
    socket.once('close', onClose);
    socket.once('secureConnect', () => {
      socket.off('error', onError);
      socket.off('close', onClose);
      if (!socket.authorized) return fail('it could not prove that it is the gateway');
      // A server that does not know the protocol may ignore the question.
      if (protocol !== 'http/1.1' && socket.alpnProtocol !== protocol) return fail(`it does not speak ${protocol}`);
      clearTimeout(timer);
      // A gateway that vanished without a word is noticed.
      socket.setKeepAlive(true, 60_000);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

/** The chain holds by now. OpenSSL lets a certificate without extended key usage pass, and Node a common name. */
function checkDoor(_host: string, { raw }: PeerCertificate): Error | undefined {
  const certificate = new X509Certificate(raw);
  if (certificate.checkHost(doorName, { subject: 'never', wildcards: false }) === undefined) {
    return new Error(`its certificate is not for ${doorName}`);
  }
  if (certificate.keyUsage?.includes(serverAuth) !== true) return new Error('its certificate is not one of a server');
  return undefined;
}

function inWords(error: Error): string {
  const code = 'code' in error ? error.code : null;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name cannot be resolved';
  if (code === 'ENETUNREACH' || code === 'EHOSTUNREACH') return 'there is no way to it from here';
  if (code === 'ECONNRESET') return 'it closed the connection at once';
  return `it could not prove that it is the gateway, or did not take our certificate (${error.message})`;
}
