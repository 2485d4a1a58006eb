// Opens a way to an upstream through the operator's own HTTP proxy (`upstream.proxy`) by CONNECT: to an address that was resolved and
// judged here, or to a name, where the policy says so. What the proxy says of its own never goes to a sandbox.
import { connect, type Socket } from 'node:net';
import { Refusal } from '../../../path/refusal.ts';
import type { UpstreamProxy } from '../../../policy/compiled.ts';
import { parseResponseHead } from '../../../protocols/http1/response-head.ts';
import { renderHead } from '../../../protocols/http1/write-head.ts';
import type { FoundUpstream } from './find-upstream.ts';

const maxHeadBytes = 16 * 1024;
/** A proxy may have a way to one of the addresses of a host and not to another. */
const maxTries = 3;

export interface ProxyCall {
  readonly proxy: UpstreamProxy;
  readonly host: string;
  /** What is asked for, the best first. */
  readonly authorities: readonly string[];
  /** Name of this gateway in Via. */
  readonly instance: string;
  /** Proxy-Authorization. */
  readonly login: string | null;
  readonly leftMs: () => number;
  /** The upstream may speak before we do: it is no TLS. */
  readonly answersFirst?: boolean;
}

/** IPv4 goes first: fewer proxies have a way out for the other. */
export function authoritiesOf({ addresses, port }: FoundUpstream): string[] {
  const sorted = [...addresses].sort((one, other) => one.family - other.family);
  return sorted.map(({ address, family }) => (family === 6 ? `[${address}]:${port}` : `${address}:${port}`));
}

export async function connectByProxy(call: ProxyCall): Promise<{ socket: Socket; authority: string }> {
  const [authority, ...others] = call.authorities.slice(0, maxTries);
  try {
    return { socket: await connectTo(call, authority!), authority: authority! };
  } catch (error) {
    if (others.length === 0 || !(error instanceof NoWay)) throw error;
    return connectByProxy({ ...call, authorities: others });
  }
}

/** The proxy could not reach what it was asked for; another address may do. */
class NoWay extends Refusal {}

function connectTo(
  { proxy, host, instance, login, leftMs, answersFirst }: ProxyCall,
  authority: string,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true, keepAlive: true });
    let head: Buffer = Buffer.alloc(0);
    const end = (refusal: Refusal): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(refusal);
    };
    const fail = (message: string, cause?: unknown): void =>
      end(new Refusal('upstream.proxy', message, { hint: 'Check upstream.proxy.', cause }));
    const timer = setTimeout(() => fail(`the upstream proxy did not connect to ${host} in time`), leftMs());
    const onError = (cause: Error): void => fail('the upstream proxy could not be reached', cause);
    const onClose = (): void => fail('the upstream proxy closed the connection');
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      let parsed: ReturnType<typeof parseResponseHead>;
      try {
        parsed = parseResponseHead(head, 0, maxHeadBytes, 'CONNECT');
      } catch (cause) {
        fail('the upstream proxy gave no readable answer', cause);
        return;
      }
      if (parsed === null) return;
      if (parsed.status !== 200) {
        end(refused(proxy, host, parsed.status, login !== null));
        return;
      }
      clearTimeout(timer);
      socket.off('data', onData).off('error', onError).off('close', onClose);
      socket.pause();
      socket.on('error', () => socket.destroy());
      // TLS speaks first from our side: bytes that come before it are not from the upstream we asked for.
      const early = head.subarray(parsed.headEnd);
      if (early.length > 0 && answersFirst !== true) {
        fail('the upstream proxy sent bytes of its own into the tunnel');
        return;
      }
      if (early.length > 0) socket.unshift(early);
      resolve(socket);
    };
    socket.on('data', onData).on('error', onError).on('close', onClose);
    socket.once('connect', () => {
      const fields = ['Host', 'Via'];
      const values = [authority, `1.1 ${instance}`];
      if (login !== null) {
        fields.push('Proxy-Authorization');
        values.push(login);
      }
      socket.write(renderHead(`CONNECT ${authority} HTTP/1.1`, fields, values), 'latin1');
    });
  });
}

function refused({ byName }: UpstreamProxy, host: string, status: number, hasLogin: boolean): Refusal {
  if (status === 407) {
    return new Refusal(
      'upstream.proxy',
      hasLogin ? 'the upstream proxy does not take its login' : 'the upstream proxy asks for a login',
      {
        rule: 'upstream.proxy',
        hint: 'The operator of the gateway writes upstream.proxy: {url, username, password: {file: /absolute/path}}.',
      },
    );
  }
  const hint = byName
    ? 'Check upstream.proxy.'
    : 'Check upstream.proxy. One that opens no way to addresses needs `connect: name`: then it resolves the names, and nothing here judges where they lead.';
  const Kind = status >= 500 ? NoWay : Refusal;
  return new Kind('upstream.proxy', `the upstream proxy refused a way to ${host} with status ${status}`, { hint });
}
