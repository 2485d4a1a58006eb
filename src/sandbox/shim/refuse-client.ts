// How the shim refuses. Its clients speak HTTP to a proxy, so it answers in HTTP, in the contract's form, and goes on
// reading for a moment: closing a connection with unread bytes would destroy the answer.
import type { Socket } from 'node:net';

/** A client that goes on sending gets this long to read its answer. */
const lingerMs = 1_000;

const reasons = { 403: 'Forbidden', 502: 'Bad Gateway', 503: 'Service Unavailable' } as const;

export interface ShimAnswer {
  readonly status: keyof typeof reasons;
  readonly code: 'shim.uid' | 'shim.gateway' | 'shim.identity' | 'shim.connections';
  readonly error: string;
  /** The option or the limit that decided. */
  readonly rule: string;
  readonly hint: string;
}

export function refuseClient(client: Socket, answer: ShimAnswer, requestId: string): void {
  const { status, ...fields } = answer;
  const body = `${JSON.stringify({ ...fields, request_id: requestId })}\n`;
  client.write(
    [
      `HTTP/1.1 ${status} ${reasons[status]}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      `X-Sallyport-Refused: ${answer.code}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  endInGoodOrder(client);
}

/** Ends our side once everything is written, and takes the client's bytes for a moment more, to be thrown away. */
export function endInGoodOrder(client: Socket): void {
  client.unpipe();
  client.on('error', () => client.destroy());
  client.on('data', () => {});
  client.resume();
  client.end(() => {
    const timer = setTimeout(() => client.destroy(), lingerMs);
    client.once('close', () => clearTimeout(timer));
  });
}
