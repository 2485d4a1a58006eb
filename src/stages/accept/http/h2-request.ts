// A request of HTTP/2 as the path takes it, and what can be wrong with one, as refusals in words. What breaks the rules of the
// protocol itself has lost its stream or its connection before it comes here, and is only written down.
import type { Framing } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { RawRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { errorCode, type Http2Fault } from '../../../protocols/http2/http2-fault.ts';
import type { RequestFields } from '../../../protocols/http2/request-fields.ts';
import { UnservedExchange } from '../doors/unserved-exchange.ts';
import { bodyTooLarge } from '../request-faults.ts';
import type { ConnectionOrigin } from './connection-settings.ts';

/** In the place of one that could not be read. */
export const emptyRequest: RequestFields = {
  method: '',
  scheme: '',
  authority: null,
  path: '',
  names: [],
  values: [],
  contentLength: -1,
};

export function rawRequest(origin: ConnectionOrigin, fields: RequestFields, fault: Refusal | null): RawRequest {
  const { scheme, connect, sni, destination } = origin;
  const { method, path, authority, names, values } = fields;
  return {
    protocol: 'h2',
    scheme,
    method,
    target: path,
    authority,
    // Names are in small letters as they come.
    headers: new HeaderList(names, [...names], values),
    connect,
    sni,
    kind: 'http',
    hiddenName: false,
    destination,
    fault,
  };
}

/** Null: what the head says of the body cannot be. */
export function framingOf(isEnded: boolean, { names, values, contentLength }: RequestFields): Framing | null {
  if (contentLength < 0 && names.includes('content-length')) return null;
  // No nought before it: some servers read that as octal, and it is sent on as it came.
  if (contentLength >= 0 && values[names.indexOf('content-length')] !== String(contentLength)) return null;
  if (isEnded) return contentLength <= 0 ? { kind: 'none' } : null;
  return contentLength < 0 ? { kind: 'chunked' } : { kind: 'length', bytes: contentLength };
}

export function faultInRequest(
  { names, values, scheme }: RequestFields,
  framing: Framing | null,
  origin: ConnectionOrigin,
  maxBytes: number,
): Refusal | null {
  // An HTTP/1.1 upstream may fold `_` to `-` and would see framing that we did not write.
  if (names.includes('content_length') || names.includes('transfer_encoding')) {
    return new Refusal(
      'malformed.framing',
      'a header field looks like Content-Length or Transfer-Encoding with an underscore',
    );
  }
  if (framing === null) return new Refusal('malformed.framing', 'Content-Length does not fit the request');
  if (scheme !== origin.scheme)
    return new Refusal('malformed.syntax', 'the :scheme of the request is not the scheme of its connection');
  const expectAt = names.indexOf('expect');
  if (expectAt >= 0 && values[expectAt]!.toLowerCase() !== '100-continue') {
    return new Refusal('malformed.expect', 'the expectation is unknown');
  }
  if (maxBytes > 0 && framing.kind === 'length' && framing.bytes > maxBytes) return bodyTooLarge(maxBytes);
  return null;
}

const strict = { rule: 'built-in: strict HTTP/2', hint: 'Send well-formed HTTP/2 requests.' };

/** Its stream was reset. */
export function brokenRequest(fault: string, isTooLarge: boolean): Refusal {
  const code = isTooLarge ? 'limit.head-size' : 'malformed.syntax';
  return new Refusal(code, `the HTTP/2 request is malformed: ${fault}`, strict);
}

/** The stream was reset in the middle of the request. */
export function brokenBody(fault: string): Refusal {
  return new Refusal('malformed.framing', `the HTTP/2 request is malformed: ${fault}`, strict);
}

/** The connection was closed. */
export function brokenConnection(fault: Http2Fault): Refusal {
  if (fault.code === errorCode.enhanceYourCalm) {
    return new Refusal('limit.http2-flood', fault.message, {
      rule: 'built-in: HTTP/2 without floods',
      hint: 'Open a new connection, and send only requests whose answers you want.',
    });
  }
  if (fault.code === errorCode.internal) return new Refusal('internal.error', fault.message, { cause: fault });
  return new Refusal('malformed.framing', `the HTTP/2 connection is broken: ${fault.message}`, strict);
}

/** What was refused by a frame. It goes through the path so that the refusal is recorded like any other. */
export class UnansweredExchange extends UnservedExchange {
  answer(): void {
    this.answered = true;
  }

  abort(): void {}
}
