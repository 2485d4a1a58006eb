// Reads the head of an HTTP/1.1 answer: status line, fields, and how its body is framed given the method it
// answers (RFC 9112 section 6.3). As strict towards upstreams as the request side is towards clients: a response
// that can be read in two ways is how one sandbox would be given the answer of another.
import { CR, LF, SP, textBytes } from './byte-class.ts';
import { connectionOptions } from './connection-options.ts';
import {
  collectFields,
  type FieldSection,
  type Fields,
  refuseSyntax,
  refuseText,
  scanFields,
} from './field-section.ts';
import { chunkedBody, type Http1Framing, noBody, refuseFraming, untilClose } from './framing.ts';
import { awaitMore, readVersion, VERSION_BYTES, type Version } from './head-bytes.ts';

export interface ParsedResponseHead extends Fields {
  readonly version: Version;
  readonly status: number;
  readonly reason: string;
  readonly framing: Http1Framing;
  /** False whenever the end of the body is the end of the connection. */
  readonly keepAlive: boolean;
  readonly upgrade: string | null;
  /** Offset just past the blank line. */
  readonly headEnd: number;
}

/** Null: more bytes are needed; call again with a longer buffer. Throws Http1Error. */
export function parseResponseHead(
  buf: Buffer,
  start: number,
  maxBytes: number,
  requestMethod: string,
): ParsedResponseHead | null {
  const limit = Math.min(buf.length, start + maxBytes);
  const version = readVersion(buf, start, limit);
  if (version === null) return awaitMore(buf, start, maxBytes);
  let at = start + VERSION_BYTES;
  if (at >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at++] !== SP) refuseSyntax('no single space between the version and the status');
  let status = 0;
  for (const end = at + 3; at < end; at++) {
    if (at >= limit) return awaitMore(buf, start, maxBytes);
    const digit = buf[at]! - 0x30;
    if (digit < 0 || digit > 9) refuseSyntax('the status is not three digits');
    status = status * 10 + digit;
  }
  if (status < 100) refuseSyntax('a status below 100');
  if (at >= limit) return awaitMore(buf, start, maxBytes);
  // Some servers leave out the space when there is no reason; nothing else can be meant by it.
  if (buf[at] === SP) at++;
  else if (buf[at] !== CR) refuseSyntax('the status is not followed by a space or the end of the line');
  const reasonStart = at;
  while (at < limit && textBytes[buf[at]!] === 1) at++;
  if (at >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at] !== CR) refuseText(buf[at]!, 'the status line');
  const reasonEnd = at;
  if (at + 1 >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at + 1] !== LF) refuseSyntax('a CR without LF after it in the status line');

  const headEnd = scanFields(buf, at + 2, limit);
  if (headEnd < 0) return awaitMore(buf, start, maxBytes);
  const text = buf.toString('latin1', start, headEnd);
  const fields = collectFields(buf, text, start);
  const options = connectionOptions(version, fields.connection, fields.upgrade);
  const framing = responseFraming(status, requestMethod, version, fields);
  // RFC 9110 section 15.3.5: 204 has no body. One that announces a body may still send it: read nothing after it.
  const bodyAnnounced = status === 204 && (fields.chunked || fields.contentLength > 0);
  return {
    version,
    status,
    reason: text.slice(reasonStart - start, reasonEnd - start),
    names: fields.names,
    keys: fields.keys,
    values: fields.values,
    framing,
    keepAlive: options.keepAlive && framing.kind !== 'until-close' && !bodyAnnounced,
    upgrade: options.upgrade,
    headEnd,
  };
}

function responseFraming(status: number, requestMethod: string, version: Version, fields: FieldSection): Http1Framing {
  if (fields.chunked && version === '1.0') refuseFraming('Transfer-Encoding in an HTTP/1.0 answer');
  if (status < 200) {
    // RFC 9112 section 6.1 and RFC 9110 section 8.6: the next head would be taken for a body, or the other way round.
    if (fields.chunked || fields.contentLength > 0) refuseFraming('an interim answer that announces a body');
    return status === 101 ? untilClose : noBody;
  }
  if (requestMethod === 'HEAD' || status === 204 || status === 304) return noBody;
  // RFC 9110 section 9.3.6: after it comes the tunnel, whatever the fields say.
  if (requestMethod === 'CONNECT' && status < 300) return untilClose;
  if (fields.chunked) return chunkedBody;
  if (fields.contentLength < 0) return untilClose;
  return { kind: 'length', bytes: fields.contentLength };
}
