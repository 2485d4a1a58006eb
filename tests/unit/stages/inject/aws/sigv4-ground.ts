// Requests of AWS clients made by hand, for the tests of signing: signed with the placeholder keys by another implementation
// than ours, signed anew by ours, and judged by AWS as the other implementation sees it.

import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { placeholderFor } from '../../../../../src/kit/text/placeholder.ts';
import type { BodyWriter, Exchange, Framing } from '../../../../../src/path/exchange/exchange.ts';
import type { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { wrappedExchange } from '../../../../../src/path/exchange/wrappers.ts';
import type { Authorized } from '../../../../../src/path/flow.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import { awsKeysValue } from '../../../../../src/stages/inject/aws/aws-keys.ts';
import { type SignedOutgoing, signOutgoing } from '../../../../../src/stages/inject/aws/aws-sign-outgoing.ts';
import { placeholderAccessKeyId } from '../../../../../src/stages/inject/aws/sigv4-claim.ts';
import { judgeSignature, type RealKeys, type Verdict } from '../../../../support/pretend-aws.ts';
import { authorized } from '../authorized-flow.ts';

export const realKeys: RealKeys = {
  accessKeyId: 'AKIAREALREALREAL0001',
  secretAccessKey: 'real/secret+access/key0123456789abcdefgh',
};
export const temporaryKeys: RealKeys = {
  accessKeyId: 'ASIATEMPTEMPTEMP0001',
  secretAccessKey: 'temporary/secret+key0123456789abcdefghij',
  sessionToken: 'FwoGZXIvYXdzEtemporary/session+token//////////==',
};

export interface ClientRequest {
  readonly method?: string;
  readonly host?: string;
  /** As it goes on the wire. */
  readonly path?: string;
  /** Decoded. */
  readonly query?: Readonly<Record<string, string | string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly region?: string;
  readonly service?: string;
  readonly at?: Date;
  /** Presigned for so many seconds. */
  readonly expiresIn?: number;
  readonly keys?: RealKeys;
}

export const placeholderKeys: RealKeys = {
  accessKeyId: placeholderAccessKeyId,
  secretAccessKey: placeholderFor('aws'),
};

/** The flow of what a client sends: signed with the placeholder keys. */
export async function clientFlow(request: ClientRequest): Promise<Authorized> {
  const { method = 'GET', host = 's3.eu-west-1.amazonaws.com', path = '/', query = {}, body } = request;
  const { region = 'eu-west-1', service = 's3', at = new Date(), keys = placeholderKeys } = request;
  const isStorage = service === 's3';
  const signer = new SignatureV4({
    region,
    service,
    credentials: keys,
    sha256: Sha256,
    uriEscapePath: !isStorage,
    applyChecksum: isStorage,
  });
  const headers = { host, ...request.headers };
  const message = { method, protocol: 'https:', hostname: host, path, query: { ...query }, headers, body };
  const signed =
    request.expiresIn === undefined
      ? await signer.sign(message, { signingDate: at })
      : await signer.presign(isStorage ? { ...message, body: {} } : message, {
          signingDate: at,
          expiresIn: request.expiresIn,
        });
  const rawQuery = wireQuery((signed.query ?? {}) as Record<string, string | string[]>);
  return flowOf(method, host, path, rawQuery, Object.entries(signed.headers), body);
}

export function flowOf(
  method: string,
  host: string,
  rawPath: string,
  query: string | null,
  headers: readonly (readonly [string, string])[],
  body: Buffer | undefined,
): Authorized {
  const length: [string, string][] = body === undefined ? [] : [['content-length', String(body.length)]];
  const flow = authorized({
    headers: [...headers.filter(([name]) => name !== 'content-length'), ...length],
    canonical: { host, method, path: decodeURIComponent(rawPath), rawPath, query },
    permission: { credential: 'aws' },
  });
  return { ...flow, exchange: exchangeWith(body) };
}

export function wireQuery(query: Readonly<Record<string, string | string[]>>): string | null {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((value) => `${strictly(name)}=${strictly(value)}`),
  );
  return pairs.length === 0 ? null : pairs.join('&');
}

/** RFC 3986: everything but the unreserved letters. */
export function strictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** What the inject stage hands over: without hop-by-hop fields and without auth. */
export function cleaned(flow: Authorized): { target: string; headers: HeaderList } {
  const { rawPath, query } = flow.canonical;
  const headers = flow.request.headers.without((key) => ['authorization', 'host', 'connection', 'te'].includes(key));
  return { target: query === null ? rawPath : `${rawPath}?${query}`, headers };
}

export function secretOf(keys: RealKeys, expiration: string | null = null): Secret {
  return new Secret('aws', awsKeysValue({ ...keys, expiration }));
}

export async function resign(
  flow: Authorized,
  keys: RealKeys = realKeys,
  over: { noted?: Secret[]; now?: () => number; headers?: HeaderList } = {},
): Promise<SignedOutgoing> {
  const { target, headers } = cleaned(flow);
  const note = (secret: Secret): void => void over.noted?.push(secret);
  return signOutgoing(flow, target, over.headers ?? headers, secretOf(keys), note, over.now);
}

/** What AWS says to it. */
export async function judged(flow: Authorized, out: SignedOutgoing, keys: RealKeys = realKeys): Promise<Verdict> {
  const { host, method } = flow.canonical;
  const headers: Record<string, string> = {};
  for (const [i, key] of out.headers.keys.entries()) {
    headers[key] = headers[key] === undefined ? out.headers.values[i]! : `${headers[key]},${out.headers.values[i]}`;
  }
  return judgeSignature({ method, host, target: out.target, headers, body: await bodyOf(sentBy(flow, out)) }, keys);
}

/** What the upstream takes the body from. */
export function sentBy(flow: Authorized, { wrap }: SignedOutgoing): Exchange {
  const exchange = wrappedExchange(flow);
  return wrap === null ? exchange : wrap(exchange);
}

export function exchangeWith(body: Buffer | undefined): Exchange {
  const requestFraming: Framing = body === undefined ? { kind: 'none' } : { kind: 'length', bytes: body.length };
  const exchange = {
    form: 'payload',
    requestFraming,
    onAbandoned: null,
    asPayload: () => exchange,
    sendBody(to: BodyWriter) {
      // In small pieces, as a slow network would.
      for (let at = 0; at < (body?.length ?? 0); at += 700) to.write(body!.subarray(at, at + 700));
      to.end(null);
    },
  } as unknown as Exchange;
  return exchange;
}

/** Rejects when the body breaks off. */
export function bodyOf(exchange: Exchange): Promise<Buffer> {
  if (exchange.requestFraming.kind === 'none') return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    exchange.sendBody({
      onDrain: null,
      write: (chunk) => chunks.push(chunk) > 0,
      flush: () => {},
      end: () => resolve(Buffer.concat(chunks)),
      fail: reject,
    });
  });
}
