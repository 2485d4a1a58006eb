// What can be wrong with a request before it is a request, as refusals in words.
import { Refusal } from '../../path/refusal.ts';
import { Http1Error } from '../../protocols/http1/http1-error.ts';
import type { RequestHead } from '../../protocols/http1/request-head.ts';

export function bodyTooLarge(maxBodyBytes: number): Refusal {
  return new Refusal('limit.body-size', `the request body is larger than ${maxBodyBytes} bytes`, {
    rule: 'limits.request_body_bytes',
    hint: 'Send less, or ask the operator to raise limits.request_body_bytes.',
  });
}

export function fieldTooLate(key: string): Refusal {
  return new Refusal('malformed.framing', `the field ${key} may not come after the body`, {
    rule: 'built-in: no credential in trailers',
    hint: 'Send it in the head of the request.',
  });
}

export function unreadable(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof Http1Error) {
    return new Refusal(error.code, error.message, {
      rule: 'built-in: strict HTTP/1.1',
      hint: 'Send one well-formed HTTP/1.1 request.',
    });
  }
  return new Refusal('internal.error', 'the request could not be read', { cause: error });
}

/** What is wrong with a head of HTTP/1.1 that could be read. */
export function faultInHead(head: RequestHead, maxBodyBytes: number): Refusal | null {
  if (head.version !== '1.1' && head.method !== 'CONNECT') {
    return new Refusal('malformed.version', 'HTTP/1.0 requests are not served', { hint: 'Use HTTP/1.1 or HTTP/2.' });
  }
  if (head.expectation !== null) {
    return new Refusal(
      'malformed.expect',
      `the expectation ${JSON.stringify(head.expectation.slice(0, 40))} is unknown`,
    );
  }
  if (maxBodyBytes > 0 && head.framing.kind === 'length' && head.framing.bytes > maxBodyBytes)
    return bodyTooLarge(maxBodyBytes);
  return null;
}

/** The time limits of clients: what they may be told, if there is still somebody to tell. */
export function slowHead(limitMs: number): Refusal {
  return new Refusal('client.timeout', `the head of the request was not complete after ${limitMs} ms`, {
    rule: 'limits.client_head_timeout_ms',
    hint: 'Send all header fields of a request at once.',
  });
}

export function noBodyComes(limitMs: number): Refusal {
  return new Refusal('client.timeout', `the client sent no more of the request body for ${limitMs} ms`, {
    rule: 'limits.idle_timeout_ms',
    hint: 'Start a request only when you have its whole body.',
  });
}

export function nothingTaken(limitMs: number): Refusal {
  return new Refusal('client.timeout', `the client read nothing of its answer for ${limitMs} ms`, {
    rule: 'limits.idle_timeout_ms',
    hint: 'Read the answer, or close the connection.',
  });
}
