// What the pretend model providers share: a TLS server under the provider's name that looks for the real key on every
// request where it belongs, for anything that is a placeholder or a key where it does not belong, and keeps a list of
// what was wrong.
import type { IncomingHttpHeaders } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import { type Answer, type SeenRequest, startFakeUpstream } from './fake-upstream.ts';
import type { TestCa } from './test-ca.ts';

export interface PretendProvider {
  readonly host: string;
  /** For `upstream.resolve`. */
  readonly address: string;
  readonly seen: readonly SeenRequest[];
  /** What no request should have been like; empty when all went well. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

export interface ProviderSketch {
  readonly host: string;
  /** The field that carries the key, and the whole value it must have at the time. */
  readonly keyField: string;
  readonly keyValue: string | (() => string);
  /** What must be nowhere but in that field; of a login, what all its tokens have in common. */
  readonly realKey: string;
  /** What else a request with the key must have; null: nothing is wrong with it. */
  check?(headers: IncomingHttpHeaders): string | null;
  /** Waited for before a request with the key is answered. */
  hold?(path: string): Promise<void>;
  /** Paths that get the credential; all others get none. */
  readonly credentialed: RegExp;
  /** Null: 404, as real providers answer paths that agents try. */
  answer(path: string, body: Buffer): Answer | null;
  /** For what is no request and answer. */
  serve?(server: Http2SecureServer, judge: (url: string, headers: IncomingHttpHeaders) => boolean): void;
}

/** The answer every pretend model gives. */
export const pretendAnswer = 'The door is open and the key stayed outside.';

export async function startPretendProvider(ca: TestCa, sketch: ProviderSketch): Promise<PretendProvider> {
  const faults: string[] = [];
  const judge = (url: string, headers: IncomingHttpHeaders, body = ''): boolean => {
    const path = url.split('?')[0]!;
    const fields = JSON.stringify(headers);
    if (`${url} ${fields}`.includes('sallyport-placeholder'))
      faults.push(`a placeholder reached ${sketch.host}${path}`);
    if (`${url} ${body}`.includes(sketch.realKey))
      faults.push(`the key is in the wrong place of ${sketch.host}${path}`);
    const due = sketch.credentialed.test(path);
    const { keyValue } = sketch;
    const correct = headers[sketch.keyField] === (typeof keyValue === 'string' ? keyValue : keyValue());
    if (due && !correct) faults.push(`${sketch.host}${path} came without the key`);
    const wrong = due && correct ? (sketch.check?.(headers) ?? null) : null;
    if (wrong !== null) faults.push(`${sketch.host}${path}: ${wrong}`);
    if (!due && fields.includes(sketch.realKey)) faults.push(`the key came to ${sketch.host}${path}`);
    return correct;
  };
  const upstream = await startFakeUpstream(ca, [sketch.host], (request, response, body) => {
    const correct = judge(request.url, request.headers, body.toString('latin1'));
    const path = request.url.split('?')[0]!;
    const answer = sketch.answer(path, body);
    if (answer !== null && correct) {
      void (sketch.hold?.(path) ?? Promise.resolve()).then(() => answer(request, response, body));
      return;
    }
    response.statusCode = answer === null ? 404 : 401;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ error: { type: 'pretend', message: 'no such path here, or not the right key' } }));
  });
  sketch.serve?.(upstream.server, judge);
  return { host: sketch.host, address: upstream.address, seen: upstream.seen, faults, close: upstream.close };
}

/** An answer of server-sent events, as `event:` and `data:` or as `data:` alone. */
export function eventStream(events: readonly object[], named: boolean): Answer {
  return (_request, response) => {
    response.setHeader('content-type', 'text/event-stream');
    for (const event of events) {
      const name = named && 'type' in event ? `event: ${String(event.type)}\n` : '';
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  };
}

export function jsonAnswer(value: object): Answer {
  return (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(value));
  };
}
