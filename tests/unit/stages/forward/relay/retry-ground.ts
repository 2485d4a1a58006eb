// A forward stage between a real client connection and real upstreams, with a credential that can be renewed: what inject/
// would have made is made here by hand.

import { readFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import type { AnswerScrub } from '../../../../../src/path/exchange/answer-scrub.ts';
import type { Exchange } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest, type OwnAnswer } from '../../../../../src/path/exchange/outgoing-request.ts';
import type { Forwarded, Injected, RawRequest } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { granted } from '../../../../../src/path/stamps/granted.ts';
import { H1Connection } from '../../../../../src/stages/accept/http/h1-connection.ts';
import { H2Connection } from '../../../../../src/stages/accept/http/h2-connection.ts';
import { createForwardStage } from '../../../../../src/stages/forward/forward-stage.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { type FarConnection, type RawUpstream, startRawUpstream } from '../../../../support/raw-upstream.ts';
import { makeTestCa, type TestCa } from '../../../../support/test-ca.ts';
import { Wire } from '../../../../support/wire.ts';

export const host = 'api.example';

export interface Given {
  /** What a renewal gives: another key, none, or a failure. */
  readonly renewal?: 'new' | 'none' | 'failure' | Promise<'new' | 'none'>;
  /** The client speaks HTTP/2. */
  readonly http2?: boolean;
  /** A stage before this one has asked for the payload form. */
  readonly payload?: boolean;
  readonly answer?: OwnAnswer;
}

export interface RetryGround {
  readonly port: number;
  /** How often a renewal was asked for. */
  readonly renewals: number;
  /** How each request ended: its status, or the name or code of what ended it. */
  readonly outcomes: (number | string)[];
  readonly last: Injected | null;
  use(given: Given): void;
  close(): Promise<void>;
}

/** Takes one word out of an answer. */
function scrubOf(word: string): AnswerScrub {
  const clean = (text: string): string => text.replaceAll(word, '*'.repeat(word.length));
  const feed = (chunk: Buffer): Buffer => Buffer.from(clean(chunk.toString('latin1')), 'latin1');
  return {
    replaced: 0,
    text: clean,
    fields: ({ values }) => {
      for (let i = 0; i < values.length; i++) values[i] = clean(values[i]!);
    },
    openBody: () => ({ waiting: 0, feed, end: () => Buffer.alloc(0), release: () => Buffer.alloc(0) }),
  };
}

export async function openRetryGround(upstreamPort: number, ca: TestCa): Promise<RetryGround> {
  const sweeper = new Sweeper();
  const base = handMadePolicy({ allow: [{ host }] });
  const policy = {
    ...base,
    upstream: {
      resolve: [{ host: base.allow[0]!.host, address: '127.0.0.1', port: upstreamPort }],
      extraRoots: [readFileSync(ca.path, 'utf8')],
      proxy: null,
    },
  };
  const stage = createForwardStage(
    {
      policy: () => policy,
      lookup: () => Promise.reject(new Error('nothing is looked up here')),
      instance: 'sallyport-test',
      environmentRoots: [],
      onDial: () => {},
    },
    sweeper,
  );
  let given: Given = {};
  let renewals = 0;
  let last: Injected | null = null;
  const outcomes: (number | string)[] = [];

  const serve = (request: RawRequest, exchange: Exchange): void => {
    const { answer, renewal = 'new', payload } = given;
    const parts = (key: string) => ({
      headers: request.headers
        .without((name) => ['host', 'expect', 'connection', 'upgrade', 'transfer-encoding'].includes(name))
        .append('Authorization', `Bearer ${key}`),
      scrub: scrubOf(key),
    });
    const outgoingWith = (key: string, more: object): OutgoingRequest => {
      const { headers, scrub } = parts(key);
      return new OutgoingRequest(request.target, headers, { scrub, ...more });
    };
    const renew = async (): Promise<OutgoingRequest | null> => {
      renewals++;
      const given = await renewal;
      if (given === 'failure') throw new Error('the token endpoint is down');
      return given === 'none' ? null : outgoingWith('new-key', { renew });
    };
    const kind = request.headers.has('upgrade') ? 'websocket' : 'http';
    const flow: Injected = {
      ...acceptedFlow(callerFrom(), canonicalOf(request.method, `https://${host}${request.target}`, kind), request),
      exchange: payload ? exchange.asPayload() : exchange,
      sandbox: sandboxWith(),
      permission: granted({
        rule: 'allow[0]',
        tunnel: false,
        credential: 'key',
        git: null,
        github: null,
        repository: null,
      }),
      outgoing: answer === undefined ? outgoingWith('old-key', { renew }) : outgoingWith('old-key', { answer }),
      injected: 'key',
    };
    last = flow;
    const settle = async (): Promise<Forwarded> => stage.run(flow);
    settle().then(
      ({ status }) => outcomes.push(status),
      (error: Error) => {
        outcomes.push(error instanceof Refusal ? error.code : error.name);
        if (flow.exchange.answered) flow.exchange.abort();
        else flow.exchange.answer(error instanceof Refusal ? error.status : 500, new HeaderList(), Buffer.alloc(0));
      },
    );
  };

  const settings = {
    sweeper,
    headBytes: 65_536,
    requestBodyBytes: 0,
    clientHeadTimeoutMs: 30_000,
    idleTimeoutMs: 60_000,
    carriesCredential: () => false,
  };
  const origin = { scheme: 'https', connect: null, sni: null, destination: null } as const;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    if (given.http2) new H2Connection(socket as TLSSocket, origin, settings, serve);
    else new H1Connection(socket, origin, settings, serve);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    outcomes,
    get renewals() {
      return renewals;
    },
    get last() {
      return last;
    },
    use(next) {
      given = next;
      renewals = 0;
      outcomes.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        stage.drop(null);
        sweeper.stop();
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** An upstream that speaks HTTP/2 and hands every stream to `serve`. */
export async function startHttp2Upstream(
  ca: TestCa,
  serve: (stream: ServerHttp2Stream, authorization: string) => void,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server: Http2SecureServer = createSecureServer(ca.issue([host]));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    serve(stream, String(headers.authorization));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export const refused = 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 9\r\n\r\ntoo old: ';
export const fine = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';
export const get = `GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
export const post = (body: string): string =>
  `POST /x HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Reads the body of a request in the test's way and answers it. */
type Serve = (connection: FarConnection, head: string, key: string) => Promise<void> | void;

/** The ground with an upstream that speaks HTTP/1.1 and does as the test says. */
export class Http1Ground {
  heads: string[] = [];
  bodies: string[] = [];
  serve: Serve = () => {};
  ground!: RetryGround;
  upstream!: RawUpstream;

  async open(): Promise<void> {
    const ca = makeTestCa();
    const serve = async (connection: FarConnection): Promise<void> => {
      for (;;) {
        const head = await connection.wire.until('\r\n\r\n');
        this.heads.push(head);
        await this.serve(connection, head, keyIn(head));
      }
    };
    this.upstream = await startRawUpstream({ tls: { ca, names: [host] }, serve });
    this.ground = await openRetryGround(this.upstream.port, ca);
  }

  /** The old key is refused, the new one is fine. */
  begin(): void {
    this.heads = [];
    this.bodies = [];
    this.serve = async ({ wire }, head, key) => {
      this.bodies.push(await wire.bytes(Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)));
      wire.send(key === 'old-key' ? refused : fine);
    };
    this.ground.use({});
  }

  ask(): Wire {
    return new Wire(connect(this.ground.port, '127.0.0.1'));
  }

  get keysSeen(): string[] {
    return this.heads.map(keyIn);
  }

  async close(): Promise<void> {
    await this.ground.close();
    await this.upstream.close();
  }
}

function keyIn(head: string): string {
  return /Bearer (\S+)/.exec(head)![1]!;
}
