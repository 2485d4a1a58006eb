// A far side over plain http, and how to ask it through a proxy door with the secret of a sandbox: for tests in which it is
// not what is said that matters, but who may say it.
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { basic } from './hand-made-flow.ts';
import { type RawAnswer, sendPlain } from './raw-client.ts';
import { Wire } from './wire.ts';

export const plainHost = 'plain.example';

export interface PlainUpstream {
  /** How many requests have come. */
  readonly count: () => number;
  /** Of a configuration: what it takes to reach it. */
  readonly policy: Record<string, unknown>;
  close(): Promise<void>;
}

export interface KnownSandbox {
  readonly id: string;
  readonly secret: string;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/** `/slow` begins its answer and does not end it. */
export async function startPlainUpstream(): Promise<PlainUpstream> {
  let count = 0;
  const slow = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    count++;
    if (request.url !== '/slow') return void response.end('answer');
    slow.add(response);
    response.write('beginning ');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    count: () => count,
    policy: {
      allow: [{ host: plainHost, plain_http: true }],
      upstream: { resolve: { [plainHost]: `127.0.0.1:${port}` } },
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function askPlain(door: Place, sandbox: KnownSandbox): Promise<RawAnswer> {
  return sendPlain(door, requestFor('/', sandbox, 'close'));
}

/** A connection that stays, with the answer to `/slow` under way on it. */
export async function beginSlow({ host, port }: Place, sandbox: KnownSandbox): Promise<Wire> {
  const wire = new Wire(connect(port, host));
  wire.send(requestFor('/slow', sandbox, 'keep-alive'));
  await wire.until('beginning ');
  return wire;
}

function requestFor(path: string, { id, secret }: KnownSandbox, connection: string): string {
  return [
    `GET http://${plainHost}${path} HTTP/1.1`,
    `Host: ${plainHost}`,
    `Proxy-Authorization: ${basic(id, secret)}`,
    `Connection: ${connection}`,
    '\r\n',
  ].join('\r\n');
}
