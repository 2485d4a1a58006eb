// AWS as far as signatures, buckets and one model go: checks every signature with the real keys by another implementation
// than ours (@smithy/signature-v4), the hash of every body, and every chunk signature; answers as S3 and Bedrock would.
import { createHash, createHmac } from 'node:crypto';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import type { TestCa } from './test-ca.ts';

export interface RealKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A request as it arrived: names in lower case. */
export interface ArrivedRequest {
  readonly method: string;
  readonly host: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Verdict = { readonly valid: true; readonly body: Buffer } | { readonly valid: false; readonly why: string };

/** As AWS judges it. `body`: what was sent, without the framing of chunks. */
export async function judgeSignature(request: ArrivedRequest, keys: RealKeys): Promise<Verdict> {
  const url = new URL(`https://${request.host}${request.target}`);
  const query = parametersOf(url.search.slice(1));
  const inQuery = typeof query['X-Amz-Signature'] === 'string';
  const said = inQuery ? saidInQuery(query) : saidInHeader(request.headers);
  if (said === null) return no('no signature');
  const [keyId, , region, service] = said.credential.split('/');
  if (keyId !== keys.accessKeyId) return no(`key ${keyId}`);
  const token = inQuery ? query['X-Amz-Security-Token'] : request.headers['x-amz-security-token'];
  if (token !== keys.sessionToken) return no('session token');
  const names = said.signedHeaders.split(';');
  const left = Object.keys(request.headers).find((name) => name.startsWith('x-amz-') && !names.includes(name));
  if (left !== undefined) return no(`${left} not signed`);
  const isStorage = service === 's3';
  const stated = request.headers['x-amz-content-sha256'];
  if (isStorage && !inQuery && stated === undefined) return no('no x-amz-content-sha256');
  const signer = new SignatureV4({
    service: service!,
    region: region!,
    credentials: keys,
    sha256: Sha256,
    uriEscapePath: !isStorage,
    applyChecksum: false,
  });
  const all: Record<string, string> = { ...request.headers, host: request.host };
  const headers = Object.fromEntries(names.map((name) => [name, all[name] ?? 'missing']));
  const signingDate = new Date(said.date.replace(/^(.{4})(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  const base = {
    method: request.method,
    protocol: 'https:',
    hostname: url.hostname,
    path: request.target.split('?')[0]!,
  };
  const options = { signingDate, signableHeaders: new Set(names), unhoistableHeaders: new Set(names) };
  const rest = Object.fromEntries(Object.entries(query).filter(([name]) => !said.own.has(name)));
  // What it takes for no body at all is signed as UNSIGNED-PAYLOAD.
  const payload = isStorage && inQuery ? {} : request.body;
  const signed = inQuery
    ? await signer.presign({ ...base, query: rest, headers, body: payload }, { ...options, expiresIn: said.expires })
    : await signer.sign({ ...base, query: rest, headers, body: payload }, options);
  const expected = inQuery
    ? signed.query?.['X-Amz-Signature']
    : /Signature=([0-9a-f]{64})/.exec(signed.headers.authorization ?? '')?.[1];
  if (expected !== said.signature) return no('SignatureDoesNotMatch');
  if (Math.abs(Date.now() - signingDate.getTime()) > 16 * 60_000) return no('RequestTimeTooSkewed');
  if (stated !== undefined && /^[0-9a-f]{64}$/.test(stated) && stated !== sha256(request.body)) return no('body hash');
  if (!stated?.startsWith('STREAMING-')) return { valid: true, body: request.body };
  return judgeChunks(request.body, said, keys, stated.startsWith('STREAMING-AWS4'));
}

/** The content of an aws-chunked body, its signatures checked one by one. */
function judgeChunks(body: Buffer, said: Said, keys: RealKeys, signed: boolean): Verdict {
  const scope = said.credential.split('/').slice(1).join('/');
  const key = scope.split('/').reduce((k: Buffer | string, part) => hmac(k, part), `AWS4${keys.secretAccessKey}`);
  const chain = (kind: string, ...hashes: string[]): string =>
    hmac(key, [`AWS4-HMAC-SHA256-${kind}`, said.date, scope, before, ...hashes].join('\n')).toString('hex');
  let before = said.signature;
  const content: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const head = /^([0-9a-fA-F]+)(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(body.toString('latin1', at, end));
    if (end < 0 || head === null) return no('chunk head');
    const size = Number.parseInt(head[1]!, 16);
    const data = body.subarray(end + 2, end + 2 + size);
    if (signed) {
      if (head[2] !== chain('PAYLOAD', sha256(''), sha256(data))) return no('chunk signature');
      before = head[2];
    }
    content.push(data);
    at = end + 2 + size;
    if (size > 0) at += 2;
    else {
      const trailer = body
        .toString('latin1', at)
        .split(/\r?\n/)
        .filter((line) => line !== '');
      const mark = trailer.findIndex((line) => line.startsWith('x-amz-trailer-signature:'));
      const fields = trailer.slice(0, Math.max(mark, 0)).map((line) => `${line}\n`);
      const wanted = mark < 0 ? null : trailer[mark]!.slice('x-amz-trailer-signature:'.length);
      if (signed && wanted !== null && wanted !== chain('TRAILER', sha256(fields.join(''))))
        return no('trailer signature');
      return { valid: true, body: Buffer.concat(content) };
    }
  }
}

interface Said {
  readonly credential: string;
  readonly signedHeaders: string;
  readonly signature: string;
  readonly date: string;
  readonly expires: number;
  readonly own: ReadonlySet<string>;
}

function saidInHeader(headers: Readonly<Record<string, string>>): Said | null {
  const parts = /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? '',
  );
  if (parts === null) return null;
  const date = headers['x-amz-date'] ?? '';
  return { credential: parts[1]!, signedHeaders: parts[2]!, signature: parts[3]!, date, expires: 0, own: new Set() };
}

function saidInQuery(query: Parameters): Said | null {
  const own = ['Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders', 'Signature', 'Security-Token'];
  const [, credential, date, expires, signedHeaders, signature] = own.map((name) => query[`X-Amz-${name}`]);
  if (typeof credential !== 'string' || typeof date !== 'string' || typeof signature !== 'string') return null;
  return {
    credential,
    signedHeaders: String(signedHeaders),
    signature,
    date,
    expires: Number(expires),
    own: new Set(own.map((name) => `X-Amz-${name}`)),
  };
}

type Parameters = Record<string, string | string[]>;

function parametersOf(query: string): Parameters {
  const found: Parameters = {};
  for (const part of query === '' ? [] : query.split('&')) {
    const [name = '', ...value] = part.split('=').map((text, i) => (i > 1 ? text : decodeURIComponent(text)));
    const text = value.join('=');
    const known = Object.hasOwn(found, name) ? found[name] : undefined;
    found[name] = known === undefined ? text : [known, text].flat();
  }
  return found;
}

export interface PretendAws extends FakeUpstream {
  /** Why requests were turned away, in order. */
  readonly rejected: string[];
  /** By `bucket/key`. */
  readonly objects: Map<string, Buffer>;
}

/** `hosts`: names it has a certificate for; buckets stand in front of them or first in the path. */
export async function startPretendAws(ca: TestCa, hosts: readonly string[], keys: RealKeys): Promise<PretendAws> {
  const rejected: string[] = [];
  const objects = new Map<string, Buffer>();
  const parts = new Map<string, Buffer>();
  const upstream = await startFakeUpstream(ca, hosts, (request, response, body) => {
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) =>
        name.startsWith(':') || value === undefined ? [] : [[name, String(value)]],
      ),
    );
    const host = request.authority || headers.host!;
    const arrived = { method: request.method, host, target: request.url, headers, body };
    void judgeSignature(arrived, keys).then((verdict) => {
      if (verdict.valid) return serve(request, response, host, verdict.body);
      rejected.push(verdict.why);
      response.writeHead(403, { 'content-type': 'application/xml' });
      response.end(`<Error><Code>SignatureDoesNotMatch</Code><Message>${verdict.why}</Message></Error>`);
    });
  });
  function serve(request: Http2ServerRequest, response: Http2ServerResponse, host: string, body: Buffer): void {
    if (host.startsWith('bedrock-runtime.')) {
      const model = decodeURIComponent(request.url.split('/')[2]!);
      response.writeHead(200, { 'content-type': 'application/json', 'x-amzn-requestid': 'r-1' });
      response.end(JSON.stringify({ model, heard: JSON.parse(body.toString()) as unknown }));
      return;
    }
    const [path = '', search = ''] = request.url.split('?');
    const query = parametersOf(search);
    const bucket = host.startsWith('s3.') ? '' : `${host.split('.')[0]!}/`;
    const name = bucket + decodeURIComponent(path.slice(1));
    serveStorage(request, name, query, response, body);
  }
  function serveStorage(
    { method, headers: asked }: Http2ServerRequest,
    name: string,
    query: Parameters,
    to: Http2ServerResponse,
    body: Buffer,
  ): void {
    const xml = (text: string): void => {
      to.writeHead(200, { 'content-type': 'application/xml' });
      to.end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
    };
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    if (query.uploads !== undefined) {
      xml(`<InitiateMultipartUploadResult><Key>k</Key><UploadId>u-1</UploadId></InitiateMultipartUploadResult>`);
    } else if (query.partNumber !== undefined) {
      parts.set(String(query.partNumber).padStart(5, '0'), body);
      to.writeHead(200, { etag }).end();
    } else if (method === 'POST' && query.uploadId !== undefined) {
      objects.set(name, Buffer.concat([...parts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)));
      parts.clear();
      xml(`<CompleteMultipartUploadResult><Key>k</Key><ETag>"done"</ETag></CompleteMultipartUploadResult>`);
    } else if (method === 'PUT') {
      objects.set(name, body);
      to.writeHead(200, { etag }).end();
    } else if (query['list-type'] !== undefined) {
      const keys = [...objects.keys()]
        .filter((key) => key.startsWith(name))
        .map((key) => key.slice(key.indexOf('/') + 1));
      const entries = keys.map((key) => `<Contents><Key>${encodeURIComponent(key)}</Key><Size>1</Size></Contents>`);
      xml(
        `<ListBucketResult><EncodingType>url</EncodingType><KeyCount>${keys.length}</KeyCount>${entries.join('')}</ListBucketResult>`,
      );
    } else {
      const object = objects.get(name) ?? null;
      const range = /^bytes=(\d+)-(\d*)$/.exec(asked.range ?? '');
      if (object === null || range === null) {
        to.writeHead(object === null ? 404 : 200, { 'content-length': object?.length ?? 0 });
        to.end(method === 'HEAD' ? '' : (object ?? ''));
        return;
      }
      const part = object.subarray(Number(range[1]), range[2] === '' ? object.length : Number(range[2]) + 1);
      const where = `bytes ${range[1]}-${Number(range[1]) + part.length - 1}/${object.length}`;
      to.writeHead(206, { 'content-length': part.length, 'content-range': where });
      to.end(part);
    }
  }
  return { ...upstream, rejected, objects };
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}

function no(why: string): Verdict {
  return { valid: false, why };
}
