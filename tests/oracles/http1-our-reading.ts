// What our codec makes of a stream that comes in parts: the loop a connection would run, with nothing else in it.
import { BodyReader } from '../../src/protocols/http1/body-reader.ts';
import { Http1Error } from '../../src/protocols/http1/http1-error.ts';
import { parseRequestHead } from '../../src/protocols/http1/request-head.ts';
import { parseResponseHead } from '../../src/protocols/http1/response-head.ts';

/** One message, in the form in which two parsers are compared. Field lists are [name, value, name, value…]. */
export interface ReadMessage {
  /** `METHOD target version` or `status reason version`. */
  readonly start: string;
  readonly fields: string[];
  readonly keepAlive: boolean;
  body: string;
  trailers: string[];
  complete: boolean;
}

export interface Reading {
  readonly messages: ReadMessage[];
  /** Code of the refusal; null: everything so far was right. */
  refused: string | null;
  /** True: the connection was given up on purpose (close, upgrade), and what follows is not a message. */
  ended: boolean;
}

export interface OurReading extends Reading {
  /** How much of the stream the complete messages make up. */
  consumed: number;
}

interface Head {
  readonly names: string[];
  readonly values: string[];
  readonly framing: ConstructorParameters<typeof BodyReader>[0];
  readonly keepAlive: boolean;
  readonly upgrade: string | null;
  readonly headEnd: number;
}

interface FoundHead {
  readonly start: string;
  readonly head: Head;
  /** No message follows this one. */
  readonly last: boolean;
  /** Not even a body follows: the protocol was switched. */
  readonly switched: boolean;
}

type ReadHead = (buf: Buffer) => FoundHead | null;

const MAX_HEAD_BYTES = 16 * 1024;

export const readOurRequests = (parts: readonly Buffer[], wire = false): OurReading =>
  read(parts, wire, (buf) => {
    const head = parseRequestHead(buf, 0, MAX_HEAD_BYTES);
    if (head === null) return null;
    const start = `${head.method} ${head.target} ${head.version}`;
    return { start, head, last: !head.keepAlive || head.upgrade !== null, switched: false };
  });

export const readOurResponses = (parts: readonly Buffer[], requestMethod: string, wire = false): OurReading =>
  read(parts, wire, (buf) => {
    const head = parseResponseHead(buf, 0, MAX_HEAD_BYTES, requestMethod);
    if (head === null) return null;
    const start = `${head.status} ${head.reason} ${head.version}`;
    return { start, head, last: !head.keepAlive, switched: head.status === 101 };
  });

function read(parts: readonly Buffer[], wire: boolean, readHead: ReadHead): OurReading {
  const reading: OurReading = { messages: [], refused: null, ended: false, consumed: 0 };
  let received = 0;
  let pending = Buffer.alloc(0);
  let current: { message: ReadMessage; reader: BodyReader; last: boolean } | null = null;
  try {
    for (const part of parts) {
      pending = Buffer.concat([pending, part]);
      received += part.length;
      for (;;) {
        if (reading.ended) return reading;
        if (current === null) {
          const found = readHead(pending);
          if (found === null) break;
          current = { message: newMessage(found), reader: new BodyReader(found.head.framing), last: found.last };
          reading.messages.push(current.message);
          current.message.complete = reading.ended = found.switched;
          if (reading.ended) return reading;
          pending = pending.subarray(found.head.headEnd);
        }
        const end = feed(current, pending, wire);
        if (end < 0) {
          pending = pending.subarray(pending.length);
          break;
        }
        finish(current.message, current.reader);
        reading.ended = current.last;
        current = null;
        pending = pending.subarray(end);
        reading.consumed = received - pending.length;
        if (pending.length === 0) break;
      }
    }
  } catch (error) {
    if (!(error instanceof Http1Error)) throw error;
    reading.refused = error.code;
  }
  return reading;
}

function newMessage({ start, head }: { start: string; head: Head }): ReadMessage {
  const fields = head.names.flatMap((name, i) => [name, head.values[i]!]);
  return { start, fields, keepAlive: head.keepAlive, body: '', trailers: [], complete: false };
}

function feed(current: { message: ReadMessage; reader: BodyReader }, buf: Buffer, wire: boolean): number {
  if (!wire) {
    return current.reader.feedPayload(buf, 0, (slice) => {
      current.message.body += slice.toString('latin1');
    });
  }
  const end = current.reader.feedWire(buf, 0);
  current.message.body += buf.toString('latin1', 0, end < 0 ? buf.length : end);
  return end;
}

function finish(message: ReadMessage, reader: BodyReader): void {
  message.complete = reader.done;
  const trailers = reader.trailers;
  if (trailers !== null) message.trailers = trailers.names.flatMap((name, i) => [name, trailers.values[i]!]);
}
