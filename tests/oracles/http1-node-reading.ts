// What Node's own strict parser (llhttp, as `node:http` uses it) makes of a stream that comes in parts.
import { createRequire } from 'node:module';
import type { Reading, ReadMessage } from './http1-our-reading.ts';

/** The part of Node's binding that is used here; `node:http` itself gets at it the same way. */
interface NodeParser {
  initialize(type: number, resource: object, maxHeaderSize: number, lenientFlags: number): void;
  execute(buf: Buffer): number | (Error & { code: string });
  finish(): undefined | (Error & { code: string });
  [event: number]: unknown;
}

interface NodeParserClass {
  new (): NodeParser;
  readonly REQUEST: number;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
  readonly kLenientNone: number;
}

const http = createRequire(import.meta.url)('_http_common') as { HTTPParser: NodeParserClass; methods: string[] };
const { HTTPParser, methods } = http;

/** The methods Node's parser knows; it refuses all others. */
export const nodeMethods: ReadonlySet<string> = new Set(methods);

/** `requestMethod` null: the stream is requests; otherwise answers to that method. */
export function readAsNode(parts: readonly Buffer[], requestMethod: string | null): Reading {
  const reading: Reading = { messages: [], refused: null, ended: false };
  const parser = new HTTPParser();
  const type = requestMethod === null ? HTTPParser.REQUEST : HTTPParser.RESPONSE;
  parser.initialize(type, {}, 64 * 1024, HTTPParser.kLenientNone);
  let early: string[] = [];
  let earlyUrl = '';
  let current: ReadMessage | null = null;
  let switching = false;
  // Long heads are handed over in pieces before the message, trailers after it.
  parser[HTTPParser.kOnHeaders] = (fields: string[], url: string) => {
    if (current !== null) {
      current.trailers.push(...fields);
      return;
    }
    early = [...early, ...fields];
    earlyUrl += url;
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    _major: number,
    minor: number,
    fields: string[] | undefined,
    method: number,
    url: string | undefined,
    status: number,
    reason: string,
    upgrade: boolean,
    keepAlive: boolean,
  ): number => {
    const target = url ?? earlyUrl;
    const start = requestMethod === null ? `${methods[method]} ${target} 1.${minor}` : `${status} ${reason} 1.${minor}`;
    current = {
      start,
      fields: [...early, ...(fields ?? [])],
      // Worked out by Node before it is told of the HEAD: without a length it takes the answer to run until the close.
      keepAlive: keepAlive || requestMethod === 'HEAD',
      body: '',
      trailers: [],
      complete: false,
    };
    early = [];
    earlyUrl = '';
    reading.messages.push(current);
    switching = upgrade;
    return requestMethod === 'HEAD' ? 1 : 0;
  };
  parser[HTTPParser.kOnBody] = (slice: Buffer) => {
    current!.body += slice.toString('latin1');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    current!.complete = true;
    current = null;
    // What follows an upgrade is no message.
    reading.ended ||= switching;
  };
  for (const part of parts) {
    if (reading.ended) break;
    const result = parser.execute(part);
    if (typeof result === 'number') continue;
    reading.refused = result.code;
    break;
  }
  return reading;
}
