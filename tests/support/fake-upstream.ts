// The far side of the internet: a real TLS server on loopback that speaks HTTP/1.1 and HTTP/2, records every request it
// saw, and answers with whatever the test says (by default an echo of what arrived).
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { type LoopbackServer, listenOnLoopback } from '../../src/prove/internet/listen-on-loopback.ts';
import type { TestCa } from './test-ca.ts';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

export type Answer = (request: Http2ServerRequest, response: Http2ServerResponse, body: Buffer) => void;

export interface FakeUpstream extends LoopbackServer {
  readonly seen: SeenRequest[];
  readonly server: Http2SecureServer;
}

const echo: Answer = (request, response, body) => {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body: body.toString() }),
  );
};

export async function startFakeUpstream(
  ca: TestCa,
  names: readonly string[],
  answer: Answer = echo,
): Promise<FakeUpstream> {
  const seen: SeenRequest[] = [];
  const upstream = await startStreamingUpstream(ca, names, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const { method, url, httpVersion, headers } = request;
      seen.push({ method, url, httpVersion, headers: { ...headers }, body: body.toString('latin1') });
      answer(request, response, body);
    });
  });
  return { ...upstream, seen };
}

/** Hands over every request with its body still to come. */
export async function startStreamingUpstream(
  ca: TestCa,
  names: readonly string[],
  serve: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<Omit<FakeUpstream, 'seen'>> {
  const server = createSecureServer({ ...ca.issue(names), allowHTTP1: true }, serve);
  return { ...(await listenOnLoopback(server)), server };
}
