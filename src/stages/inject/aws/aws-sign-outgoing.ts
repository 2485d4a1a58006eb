// A request of an AWS client, signed with placeholder keys, becomes the same request signed with the real ones. The client
// says for which service and region; the host decides whether that is true. What goes out is signed as it goes out: host as
// we dial it, fields as they were left by the inject stage. Never signs where a credential could be had.
import { fieldsToSend } from '../../../path/enrich.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { withBytes } from '../../../path/exchange/replaced-body.ts';
import { payloadExchange, type Wrap } from '../../../path/exchange/wrappers.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { reveal, type Secret } from '../../../path/secret.ts';
import { SourceError } from '../sources/secret-source.ts';
import { checkScope, endpointOf } from './aws-endpoint.ts';
import { type AwsKeys, noteAwsKeys, parseAwsKeys } from './aws-keys.ts';
import { ResignedChunks } from './sigv4-chunks.ts';
import { maxSkewMs, notSigned, readClaim, type SignatureClaim, withoutSignature } from './sigv4-claim.ts';
import { payloadOf, type SignedPayload } from './sigv4-payload.ts';
import { authorizationFor, presignedTarget, type ToSign } from './sigv4-sign.ts';

export interface SignedOutgoing {
  readonly target: string;
  readonly headers: HeaderList;
  /** What its body goes through. Null: it goes on as it comes. */
  readonly wrap: Wrap | null;
  /** False: the client asked for no signature (a public file), and none was made. */
  readonly isSigned: boolean;
}

/** Written here, or part of a signature: never passed on as they came. */
const replaced: ReadonlySet<string> = new Set([
  'authorization',
  'x-amz-security-token',
  'x-amz-content-sha256',
  'x-amz-s3session-token',
]);

/**
 * `target` and `headers` as they would go out without a signature. `note` is told of every part of the keys that must not
 * come back in an answer. `now`: milliseconds since the epoch.
 */
export async function signOutgoing(
  flow: Authorized,
  target: string,
  headers: HeaderList,
  secret: Secret,
  note: (secret: Secret) => void,
  now: () => number = Date.now,
): Promise<SignedOutgoing> {
  const { canonical } = flow;
  if (canonical.kind !== 'http') throw notSigned('a WebSocket cannot be signed anew');
  const nowMs = now();
  const claim = readClaim(flow, nowMs);
  checkForm(flow);
  if (claim === null) {
    const unsigned = headers.without((key) => replaced.has(key));
    return { target, headers: unsigned, wrap: null, isSigned: false };
  }
  checkScope(canonical.host, claim.scope);
  const keys = usableKeys(secret, nowMs);
  noteAwsKeys(keys, note);
  const payload = await payloadOf(flow, claim);
  const fields = fieldsFor(headers, claim, payload, keys);
  const question = target.indexOf('?');
  const request: ToSign = {
    method: canonical.method,
    authority: canonical.port === 443 ? canonical.host : `${canonical.host}:${canonical.port}`,
    rawPath: canonical.rawPath,
    query: withoutSignature(question < 0 ? null : target.slice(question + 1)),
    headers: fields,
    signed: signedNames(fields, claim),
    scope: claim.scope,
    dateTime: claim.form === 'header' ? claim.dateTime : dateTimeOf(nowMs),
  };
  try {
    return claim.form === 'header' ? inHeader(flow, request, keys, payload) : inQuery(request, keys, claim, payload);
  } catch (error) {
    if (error instanceof URIError) throw notSigned('the path or the query of the request cannot be decoded');
    throw error;
  }
}

function inHeader(flow: Authorized, request: ToSign, keys: AwsKeys, payload: SignedPayload): SignedOutgoing {
  const { field, signature } = authorizationFor(request, keys);
  const headers = request.headers.append('Authorization', field);
  const target = request.query === null ? request.rawPath : `${request.rawPath}?${request.query}`;
  const { chunks } = payload;
  if (chunks === null) return { target, headers, wrap: wrapOf(payload), isSigned: true };
  const seed = { scope: request.scope, dateTime: request.dateTime, signature };
  payloadExchange(flow);
  return { target, headers, wrap: (inner) => new ResignedChunks(inner, seed, keys, chunks), isSigned: true };
}

/** A body that was read goes on from where it was kept. */
function wrapOf({ body }: SignedPayload): Wrap | null {
  return body === null ? null : (inner) => withBytes(inner, body);
}

/** It leaves at once, so it need not be good for longer than a signature in a header is. */
function inQuery(request: ToSign, keys: AwsKeys, claim: SignatureClaim, payload: SignedPayload): SignedOutgoing {
  const expiresSeconds = Math.min(claim.expiresSeconds!, maxSkewMs / 1000);
  return {
    target: presignedTarget(request, keys, expiresSeconds),
    headers: request.headers,
    wrap: wrapOf(payload),
    isSigned: true,
  };
}

function fieldsFor(headers: HeaderList, claim: SignatureClaim, payload: SignedPayload, keys: AwsKeys): HeaderList {
  const { body, hash } = payload;
  const fields = headers.without((key) => replaced.has(key) || (body !== null && key === 'content-length'));
  if (body !== null) fields.append('Content-Length', String(body.length));
  if (claim.form === 'query') {
    // S3 takes a body on trust there; others compare what is signed with what they get.
    return claim.scope.service === 's3' ? fields : fields.append('X-Amz-Content-Sha256', hash);
  }
  fields.append('X-Amz-Content-Sha256', hash);
  if (keys.sessionToken !== null) fields.append('X-Amz-Security-Token', reveal(keys.sessionToken));
  return fields;
}

/** What the client wanted signed, as far as it goes out, and everything of AWS. */
function signedNames(fields: HeaderList, { signedHeaders }: SignatureClaim): ReadonlySet<string> {
  return new Set(fields.keys.filter((key) => key.startsWith('x-amz-') || signedHeaders.has(key)));
}

/** Guards: a form that a browser would send to S3, signed in its body with a key of somebody else. */
function checkForm(flow: Authorized): void {
  const { canonical } = flow;
  if (canonical.method !== 'POST') return;
  if (
    !fieldsToSend(flow)
      .getAll('content-type')
      .some((value) => /multipart\/form-data/i.test(value))
  )
    return;
  // S3 has more names than those that are signed for.
  if ((endpointOf(canonical.host)?.service ?? 's3') !== 's3') return;
  throw notSigned('a form with a signature in its body cannot be signed anew', 'Upload with PUT.');
}

function usableKeys(secret: Secret, nowMs: number): AwsKeys {
  let keys: AwsKeys;
  try {
    keys = parseAwsKeys(secret);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new Refusal(
      'credential.unreadable',
      `the credential ${secret.name} is not a pair of AWS keys: the operator of the gateway must replace it`,
      { rule: `credentials.${secret.name}`, cause: error },
    );
  }
  if (keys.expiresAtMs !== null && keys.expiresAtMs <= nowMs) {
    throw new Refusal(
      'credential.missing',
      `the temporary AWS keys of the credential ${secret.name} have ended: the operator of the gateway must get new ones`,
      { rule: `credentials.${secret.name}` },
    );
  }
  return keys;
}

function dateTimeOf(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
}
