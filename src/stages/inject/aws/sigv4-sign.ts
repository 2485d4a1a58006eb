// Signs one request with AWS Signature Version 4, in a header or in the query. Only arithmetic over what it is given: what
// may be signed is decided elsewhere. What it returns is what goes on the wire, byte for byte what was signed.
import aws4 from 'aws4';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { reveal } from '../../../path/secret.ts';
import type { AwsScope } from './aws-endpoint.ts';
import type { AwsKeys } from './aws-keys.ts';

export interface ToSign {
  readonly method: string;
  /** As it stands in Host. */
  readonly authority: string;
  readonly rawPath: string;
  /** Without what belongs to a signature; null: none. */
  readonly query: string | null;
  /** What goes out, without Host and without any signature. */
  readonly headers: HeaderList;
  /** Lower case: fields of `headers` that are signed beside host. */
  readonly signed: ReadonlySet<string>;
  readonly scope: AwsScope;
  /** `20260102T030405Z` */
  readonly dateTime: string;
}

/** The Authorization field. `headers` hold X-Amz-Date, X-Amz-Content-Sha256 and the session token already. */
export function authorizationFor(
  request: ToSign,
  keys: AwsKeys,
): { readonly field: string; readonly signature: string } {
  const signer = signerFor(request, targetOf(request.rawPath, request.query), keys, false);
  const field = signer.authHeader();
  return { field, signature: field.slice(field.lastIndexOf('=') + 1) };
}

/** The target with the signature in its query. */
export function presignedTarget(request: ToSign, keys: AwsKeys, expiresSeconds: number): string {
  const { scope, dateTime } = request;
  const own: [string, string][] = [
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', `${keys.accessKeyId}/${scopeText(scope, dateTime)}`],
    ['X-Amz-Date', dateTime],
    ['X-Amz-Expires', String(expiresSeconds)],
    ['X-Amz-SignedHeaders', ['host', ...request.signed].sort().join(';')],
  ];
  if (keys.sessionToken !== null) own.push(['X-Amz-Security-Token', reveal(keys.sessionToken)]);
  const pairs = own.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const target = targetOf(request.rawPath, request.query === null ? pairs : `${request.query}&${pairs}`);
  return `${target}&X-Amz-Signature=${signerFor(request, target, keys, true).signature()}`;
}

/** Signs a text of its own, e.g. of one chunk of a body. */
export function signText(text: string, scope: AwsScope, dateTime: string, keys: AwsKeys): string {
  const signer = new aws4.RequestSigner(
    { ...scope, headers: { host: 'unused' } },
    { accessKeyId: keys.accessKeyId, secretAccessKey: reveal(keys.secretAccessKey) },
  );
  signer.datetime = dateTime;
  signer.stringToSign = () => text;
  return signer.signature();
}

export function scopeText({ region, service }: AwsScope, dateTime: string): string {
  return `${dateTime.slice(0, 8)}/${region}/${service}/aws4_request`;
}

function signerFor(request: ToSign, target: string, keys: AwsKeys, signQuery: boolean): aws4.RequestSigner {
  const headers: Record<string, string> = { host: request.authority };
  for (const key of request.signed) {
    // Fields come as bytes; the signature is over bytes, and the library writes UTF-8.
    headers[key] = request.headers
      .getAll(key)
      .map((value) => Buffer.from(value, 'latin1').toString().trim())
      .join(',');
  }
  const { region, service } = request.scope;
  const options: aws4.Request & { extraHeadersToInclude: Record<string, boolean> } = {
    method: request.method,
    host: request.authority,
    path: target,
    headers,
    region,
    service,
    signQuery,
    // It would leave out some by itself; which ones are signed was decided before.
    extraHeadersToInclude: Object.fromEntries(Object.keys(headers).map((key) => [key, true])),
  };
  const signer = new aws4.RequestSigner(options, {
    accessKeyId: keys.accessKeyId,
    secretAccessKey: reveal(keys.secretAccessKey),
    // In a header it is among the headers; in the query the library puts in what is already there.
    ...(signQuery && keys.sessionToken !== null ? { sessionToken: reveal(keys.sessionToken) } : {}),
  });
  signer.datetime = request.dateTime;
  return signer;
}

function targetOf(rawPath: string, query: string | null): string {
  return query === null ? rawPath : `${rawPath}?${query}`;
}
