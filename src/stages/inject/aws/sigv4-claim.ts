// Reads the signature that an AWS client in the sandbox has made with its placeholder keys: in a header, or in the query
// (presigned). Takes from it what the client wants signed and nothing else; the signature itself is worth nothing and is
// not looked at. Refuses what has two readings, another key, or an end that is too far away.

import { placeholderSigns } from '../../../kit/text/placeholder.ts';
import { fieldsToSend } from '../../../path/enrich.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { AwsScope } from './aws-endpoint.ts';

/** How far AWS lets a clock be wrong. */
export const maxSkewMs = 15 * 60_000;
/** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html: a week. */
const maxExpiresSeconds = 7 * 24 * 60 * 60;
const algorithm = 'AWS4-HMAC-SHA256';

/** Access key id that sandboxes have: 20 capitals and digits, so it holds no words. */
export const placeholderAccessKeyId = placeholderSigns('aws').find((sign) => /^AKIA[A-Z0-9]{16}$/.test(sign))!;

export interface SignatureClaim {
  readonly form: 'header' | 'query';
  readonly scope: AwsScope;
  /** `20260102T030405Z` */
  readonly dateTime: string;
  /** Lower case. */
  readonly signedHeaders: ReadonlySet<string>;
  /** Of the query form. */
  readonly expiresSeconds: number | null;
}

/** Parameters that belong to a signature, in lower case: what is left of a query without them is the client's request. */
const signatureParameters: ReadonlySet<string> = new Set([
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-security-token',
  'x-amz-signature',
  'x-amz-signedheaders',
  'x-amz-region-set',
]);
/** Signature Version 2, which no key here signs, and sessions of S3 Express. */
const foreignParameters = ['awsaccesskeyid', 'x-amz-s3session-token'];

/** `nowMs`: since the epoch. Null: nothing is signed, as for a public file. Throws a Refusal. */
export function readClaim(flow: Authorized, nowMs: number): SignatureClaim | null {
  const headers = fieldsToSend(flow);
  const parameters = queryParameters(flow.canonical.query);
  for (const name of foreignParameters)
    if (parameters.has(name)) throw notSigned(`the parameter ${name} is not supported`);
  const authorization = single(headers, 'authorization');
  const inQuery = [...signatureParameters].some((name) => parameters.has(name));
  if (authorization !== null && inQuery) throw notSigned('the request is signed both in a header and in its query');
  if (authorization === null && !inQuery) return null;
  const claim = inQuery ? fromQuery(parameters) : fromHeader(authorization!, single(headers, 'x-amz-date'));
  checkTime(claim, nowMs);
  checkSignedHeaders(claim, headers);
  return claim;
}

/** The raw query without what belongs to a signature; null: nothing is left. Other bytes stay as they are. */
export function withoutSignature(query: string | null): string | null {
  if (query === null) return null;
  const kept = query.split('&').filter((part) => !signatureParameters.has(nameOf(part)));
  return kept.length === 0 ? null : kept.join('&');
}

function fromHeader(authorization: string, dateTime: string | null): SignatureClaim {
  const [scheme] = authorization.split(' ', 1);
  checkAlgorithm(scheme!);
  const parts = new Map<string, string>();
  for (const part of authorization.slice(scheme!.length).split(',')) {
    const at = part.indexOf('=');
    const name = part.slice(0, at).trim();
    if (at < 0 || parts.has(name)) throw notSigned('the Authorization field cannot be read');
    parts.set(name, part.slice(at + 1).trim());
  }
  if (dateTime === null) throw notSigned('the field X-Amz-Date is missing');
  return claimOf('header', parts.get('Credential'), dateTime, parts.get('SignedHeaders'), null);
}

function fromQuery(parameters: ReadonlyMap<string, readonly string[]>): SignatureClaim {
  const one = (name: string): string => {
    const values = parameters.get(name) ?? [];
    if (values.length !== 1) throw notSigned(`the parameter ${name} must be there once`);
    return values[0]!;
  };
  checkAlgorithm(one('x-amz-algorithm'));
  const expires = one('x-amz-expires');
  if (!/^[0-9]{1,9}$/.test(expires) || Number(expires) < 1) throw notSigned('X-Amz-Expires is not a number of seconds');
  return claimOf('query', one('x-amz-credential'), one('x-amz-date'), one('x-amz-signedheaders'), Number(expires));
}

function claimOf(
  form: SignatureClaim['form'],
  credential: string | undefined,
  dateTime: string,
  signed: string | undefined,
  expiresSeconds: number | null,
): SignatureClaim {
  const [accessKeyId, date, region, service, end, ...more] = (credential ?? '').split('/');
  if (accessKeyId !== placeholderAccessKeyId) {
    throw notSigned(
      'the request is signed with an AWS key that is not the placeholder of this sandbox',
      `Use the keys of the environment (AWS_ACCESS_KEY_ID=${placeholderAccessKeyId}): the gateway signs with the real ones.`,
    );
  }
  if (!region || !service || end !== 'aws4_request' || more.length > 0)
    throw notSigned('its credential scope cannot be read');
  if (!/^\d{8}T\d{6}Z$/.test(dateTime) || dateTime.slice(0, 8) !== date) {
    throw notSigned('its date is not that of its credential scope');
  }
  const names = (signed ?? '').split(';');
  // Guards: a name that is none, e.g. one with a line end or `__proto__`, in what is signed.
  if (!names.every((name) => /^[a-z0-9-]+$/.test(name))) throw notSigned('its list of signed headers cannot be read');
  return { form, scope: { region, service }, dateTime, signedHeaders: new Set(names), expiresSeconds };
}

function checkAlgorithm(named: string): void {
  if (named === algorithm) return;
  if (/^AWS4-ECDSA/.test(named)) {
    throw notSigned(
      'the request is signed with SigV4A (AWS4-ECDSA-P256-SHA256), which is not supported',
      'Use an endpoint of one region: multi-region access points and global endpoints are signed with SigV4A.',
    );
  }
  throw notSigned(
    'the request is not signed with AWS Signature Version 4',
    'Let the client sign with the placeholder keys of its environment. API keys (Bearer) and Signature Version 2 are not supported.',
  );
}

function checkTime({ dateTime, expiresSeconds }: SignatureClaim, nowMs: number): void {
  const signedAtMs = Date.parse(dateTime.replace(/^(.{4})(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  if (expiresSeconds !== null && expiresSeconds > maxExpiresSeconds) {
    throw notSigned('the URL is signed for longer than 7 days', 'Ask for a shorter life of the URL (X-Amz-Expires).');
  }
  const endMs = signedAtMs + (expiresSeconds === null ? maxSkewMs : expiresSeconds * 1000);
  if (!(signedAtMs - maxSkewMs <= nowMs && nowMs <= endMs)) {
    throw notSigned(
      `the request was signed at ${dateTime}, which is too far from the time of the gateway`,
      expiresSeconds === null ? 'Set the clock of the client, and sign each request anew.' : 'Make a new URL.',
    );
  }
}

/** As AWS has it: what is not signed could be changed, so nothing that matters may be left out. */
function checkSignedHeaders({ signedHeaders }: SignatureClaim, headers: HeaderList): void {
  const left = [
    'host',
    ...headers.keys.filter((key) => key.startsWith('x-amz-') && key !== 'x-amz-security-token'),
  ].find((key) => !signedHeaders.has(key));
  if (left !== undefined) throw notSigned(`the header ${left} is not signed`, 'Sign host and every x-amz- header.');
}

/** Decoded, by lower-case name. */
function queryParameters(query: string | null): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const part of query === null ? [] : query.split('&')) {
    const name = nameOf(part);
    const at = part.indexOf('=');
    const values = found.get(name);
    const value = decoded(at < 0 ? '' : part.slice(at + 1));
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  return found;
}

function nameOf(part: string): string {
  const at = part.indexOf('=');
  return decoded(at < 0 ? part : part.slice(0, at)).toLowerCase();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw notSigned('its query is not valid percent-encoded UTF-8');
  }
}

/** Null: not there. */
function single(headers: HeaderList, key: string): string | null {
  const values = headers.getAll(key);
  if (values.length > 1) throw notSigned(`the header ${key} is there more than once`);
  return values[0] ?? null;
}

/** The request cannot be signed anew as it is. */
export function notSigned(message: string, hint = 'Use an AWS client that signs with Signature Version 4.'): Refusal {
  return new Refusal('aws.signature', `AWS: ${message}`, { rule: 'built-in: AWS requests are signed anew', hint });
}
