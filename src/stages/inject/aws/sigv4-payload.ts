// What a signature says of the body: the hash that the client has sent, none where S3 allows that, or the hash of the body,
// which is then read whole. Bounded; a body that cannot be signed as it is sent is refused with what to turn off.
import { createHash } from 'node:crypto';
import { fieldsToSend } from '../../../path/enrich.ts';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import { readWholeBody } from '../../../path/exchange/whole-body.ts';
import { payloadExchange, wrappedExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { inReadingRoom } from '../reading-room.ts';
import { notSigned, type SignatureClaim } from './sigv4-claim.ts';

/** Bedrock takes 25 MB; other services that want a hash take less. */
export const maxHashedBytes = 32 * 1024 * 1024;
export const hashOfNothing = createHash('sha256').digest('hex');
const unsignedPayload = 'UNSIGNED-PAYLOAD';

export interface SignedPayload {
  /** What stands for the body in what is signed, and in X-Amz-Content-Sha256. */
  readonly hash: string;
  /** Of a body that was read: what it is. Null: it goes on as it comes. */
  readonly body: Buffer | null;
  /** Every chunk of the body has a signature of its own, which must be made anew. */
  readonly chunks: 'signed' | 'signed-with-trailer' | null;
}

export function payloadOf(flow: Authorized, claim: SignatureClaim): SignedPayload | Promise<SignedPayload> {
  const headers = fieldsToSend(flow);
  const [stated, ...more] = headers.getAll('x-amz-content-sha256');
  if (more.length > 0) throw notSigned('the header x-amz-content-sha256 is there more than once');
  const isStorage = claim.scope.service === 's3';
  const asItIs = (hash: string, chunks: SignedPayload['chunks'] = null): SignedPayload => ({
    hash,
    body: null,
    chunks,
  });
  if (claim.form === 'query' && isStorage) {
    if (stated !== undefined && stated !== unsignedPayload)
      throw notSigned('a presigned URL goes with UNSIGNED-PAYLOAD');
    return asItIs(unsignedPayload);
  }
  if (stated === undefined) return hashed(flow);
  if (/^[0-9a-f]{64}$/.test(stated)) return asItIs(stated);
  if (!isStorage) {
    throw notSigned(
      `a body signed as ${JSON.stringify(stated.slice(0, 64))} is not supported by ${claim.scope.service}`,
      'Calls that stream both ways sign each event, which is not supported: use a call that answers with a stream.',
    );
  }
  switch (stated) {
    case unsignedPayload:
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return asItIs(stated);
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
      return asItIs(stated, 'signed');
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return asItIs(stated, 'signed-with-trailer');
    default:
      throw notSigned(`a body signed as ${JSON.stringify(stated.slice(0, 64))} is not supported`);
  }
}

async function hashed(flow: Authorized): Promise<SignedPayload> {
  if (wrappedExchange(flow).requestFraming.kind === 'none') return { hash: hashOfNothing, body: null, chunks: null };
  const exchange = payloadExchange(flow);
  const read = (): Promise<Buffer | null> => readWholeBody(exchange, maxHashedBytes);
  const body = await inReadingRoom(flow.sandbox.id, mostBytes(exchange), tooMany, read);
  if (body === null) {
    throw new Refusal(
      'limit.body-size',
      `AWS: a body of more than ${maxHashedBytes} bytes is signed only with its hash in X-Amz-Content-Sha256`,
      {
        rule: 'built-in: AWS requests are signed anew',
        hint: 'Send less at a time, or let the client send X-Amz-Content-Sha256.',
      },
    );
  }
  const hash = createHash('sha256').update(body).digest('hex');
  return { hash, body, chunks: null };
}

function mostBytes({ requestFraming }: Exchange): number {
  return requestFraming.kind === 'length' ? Math.min(requestFraming.bytes, maxHashedBytes) : maxHashedBytes;
}

function tooMany(): Refusal {
  return new Refusal('limit.concurrent', 'AWS: too many request bodies wait to be hashed', {
    rule: 'built-in: AWS requests are signed anew',
    hint: 'Send fewer at a time, or let the client send X-Amz-Content-Sha256.',
    retryAfterSeconds: 1,
  });
}
