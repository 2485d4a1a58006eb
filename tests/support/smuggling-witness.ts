// Two far sides that say what they saw: one that keeps every raw byte and reads leniently, and Node's own server with its
// lenient parser. Each answers every request with the target that was asked, so that an answer shows whose it is.
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:tls';
import { lenientReaders, readStream } from './smuggling-readings.ts';

interface Identity {
  readonly key: string;
  readonly cert: string;
}

export interface Witness {
  readonly address: string;
  /** Raw bytes of each connection since `forget`; empty for the one that keeps none. */
  raw(): string[];
  /** `METHOD target` of each request it took for one, since `forget`. */
  requests(): string[];
  forget(): void;
  close(): Promise<void>;
}

/** What it answers to a request for this target. */
export const answerTo = (target: string): string => `this answers ${target}`;

/** What is said to a request for one target instead: raw bytes. */
export interface ScriptedAnswer {
  readonly bytes: string;
  readonly closes: boolean;
}

export async function startLenientWitness(
  identity: Identity,
  script: (target: string) => ScriptedAnswer | null = () => null,
): Promise<Witness> {
  const sockets = new Set<Socket>();
  const raw = new Map<number, string>();
  let requests: string[] = [];
  let count = 0;
  const reader = lenientReaders.at(-1)!;
  const server = createServer({ ...identity, ALPNProtocols: ['http/1.1'] }, (socket) => {
    const number = ++count;
    let unread = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      raw.set(number, (raw.get(number) ?? '') + text);
      unread += text;
      const { messages, rest } = readStream(unread, reader);
      unread = rest;
      for (const { start } of messages) {
        const [method = '', target = ''] = start.split(' ');
        requests.push(`${method} ${target}`);
        const scripted = script(target);
        const body = answerTo(target);
        const plain = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${method === 'HEAD' ? '' : body}`;
        socket.write(scripted?.bytes ?? plain, 'latin1');
        if (scripted?.closes) socket.end();
      }
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    raw: () => [...raw.values()],
    requests: () => requests,
    forget: () => {
      raw.clear();
      requests = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export async function startNodeWitness(identity: Identity): Promise<Witness> {
  let requests: string[] = [];
  const server = createHttpsServer({ ...identity, insecureHTTPParser: true }, (request, response) => {
    request.resume();
    request.on('end', () => {
      requests.push(`${request.method} ${request.url}`);
      const body = answerTo(request.url ?? '');
      response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).end(body);
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    raw: () => [],
    requests: () => requests,
    forget: () => {
      requests = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
