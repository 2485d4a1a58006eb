// Reads the head of an HTTP/1.1 request: request line, fields, and how its body is framed. Pure: it is given bytes
// and keeps none. It refuses at the first bad byte and never repairs; whether the target, Host or Expect make sense
// is for the caller to judge.
import { CR, LF, SP, targetBytes, tokenBytes } from './byte-class.ts';
import { connectionOptions } from './connection-options.ts';
import { collectFields, type FieldSection, type Fields, refuseSyntax, scanFields } from './field-section.ts';
import { chunkedBody, type Http1Framing, noBody, refuseFraming } from './framing.ts';
import { awaitMore, readVersion, VERSION_BYTES, type Version } from './head-bytes.ts';

export interface RequestHead extends Fields {
  readonly method: string;
  readonly target: string;
  readonly version: Version;
  readonly framing: Http1Framing;
  readonly keepAlive: boolean;
  /** Expect was exactly `100-continue`. */
  readonly expectsContinue: boolean;
  /** Any other Expect, as it came; the caller refuses it. */
  readonly expectation: string | null;
  /** The Upgrade field, when Connection names it. */
  readonly upgrade: string | null;
  /** Offset just past the blank line. */
  readonly headEnd: number;
}

/** Null: more bytes are needed; call again with a longer buffer. Throws Http1Error. */
export function parseRequestHead(buf: Buffer, start: number, maxBytes: number): RequestHead | null {
  const limit = Math.min(buf.length, start + maxBytes);
  let at = start;
  while (at < limit && tokenBytes[buf[at]!] === 1) at++;
  if (at >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at] !== SP || at === start) refuseSyntax('the request line does not begin with a method and one space');
  const methodEnd = at++;
  const targetStart = at;
  while (at < limit && targetBytes[buf[at]!] === 1) at++;
  if (at >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at] !== SP || at === targetStart) {
    refuseSyntax('the request target is empty, holds a byte outside visible ASCII, or no version follows it');
  }
  const targetEnd = at++;
  const version = readVersion(buf, at, limit);
  if (version === null) return awaitMore(buf, start, maxBytes);
  at += VERSION_BYTES;
  if (at >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at] !== CR) refuseSyntax('the request line does not end in CRLF after its version');
  if (at + 1 >= limit) return awaitMore(buf, start, maxBytes);
  if (buf[at + 1] !== LF) refuseSyntax('the request line does not end in CRLF after its version');

  const headEnd = scanFields(buf, at + 2, limit);
  if (headEnd < 0) return awaitMore(buf, start, maxBytes);
  const text = buf.toString('latin1', start, headEnd);
  const fields = collectFields(buf, text, start);
  const method = text.slice(0, methodEnd - start);
  const { keepAlive, upgrade } = connectionOptions(version, fields.connection, fields.upgrade);
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  const expect = version === '1.1' ? fields.expect : null;
  const expectsContinue = expect !== null && expect.toLowerCase() === '100-continue';
  return {
    method,
    target: text.slice(targetStart - start, targetEnd - start),
    version,
    names: fields.names,
    keys: fields.keys,
    values: fields.values,
    framing: requestFraming(method, version, fields),
    keepAlive,
    expectsContinue,
    expectation: expectsContinue ? null : expect,
    upgrade,
    headEnd,
  };
}

function requestFraming(method: string, version: Version, fields: FieldSection): Http1Framing {
  if (fields.chunked) {
    if (version === '1.0') refuseFraming('Transfer-Encoding in an HTTP/1.0 request');
    // What follows a CONNECT is the tunnel to one reader and a body to another (RFC 9110 section 9.3.6).
    if (method === 'CONNECT') refuseFraming('a CONNECT request with a body');
    return chunkedBody;
  }
  if (fields.contentLength < 0) return noBody;
  if (method === 'CONNECT' && fields.contentLength > 0) refuseFraming('a CONNECT request with a body');
  return { kind: 'length', bytes: fields.contentLength };
}
