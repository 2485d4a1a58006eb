// What the fields of a header block say as a request (RFC 9113 section 8.3.1): pseudo-fields first, each once, none missing,
// none unknown; no field of a connection. What is wrong is said in words, and nothing of the request is used then.
import { isConnectionField } from './field-bytes.ts';

export interface RequestFields {
  readonly method: string;
  readonly scheme: string;
  readonly authority: string | null;
  readonly path: string;
  /** In small letters, without pseudo-fields. */
  readonly names: string[];
  readonly values: string[];
  /** -1: it does not say, or not in digits alone. */
  readonly contentLength: number;
}

const digits = /^\d{1,15}$/;

/** A string: what is wrong with it. */
export function readRequestFields(names: readonly string[], values: readonly string[]): RequestFields | string {
  let method: string | null = null;
  let scheme: string | null = null;
  let authority: string | null = null;
  let path: string | null = null;
  let at = 0;
  for (; at < names.length && names[at]!.charCodeAt(0) === 0x3a; at++) {
    const value = values[at]!;
    const name = names[at]!;
    if (name === ':method' && method === null) method = value;
    else if (name === ':path' && path === null) path = value;
    else if (name === ':scheme' && scheme === null) scheme = value;
    else if (name === ':authority' && authority === null) authority = value;
    else return 'a pseudo-field comes twice, or is none of a request';
  }
  const fields = { names: names.slice(at), values: values.slice(at) };
  const contentLength = checkFields(fields.names, fields.values);
  if (typeof contentLength === 'string') return contentLength;
  if (method === null || method === '') return 'there is no :method';
  if (method === 'CONNECT') {
    // Asked for as nobody offers it, or as a proxy is asked: whoever judges requests says no to it.
    if (scheme !== null || path !== null) return 'CONNECT has neither :scheme nor :path';
    return { method, scheme: '', authority, path: '', contentLength, ...fields };
  }
  if (scheme === null || scheme === '') return 'there is no :scheme';
  if (path === null || path === '') return 'there is no :path';
  return { method, scheme, authority, path, contentLength, ...fields };
}

/** The Content-Length, or what is wrong. */
function checkFields(names: readonly string[], values: readonly string[]): number | string {
  let contentLength: string | null = null;
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    if (name.charCodeAt(0) === 0x3a) return 'a pseudo-field stands behind a field';
    if (isConnectionField(name)) return 'a field of one connection stands in HTTP/2';
    if (name === 'te' && values[i] !== 'trailers') return 'TE says something else than trailers';
    if (name !== 'content-length') continue;
    if (contentLength !== null) return 'there is more than one Content-Length';
    contentLength = values[i]!;
  }
  return contentLength !== null && digits.test(contentLength) ? Number(contentLength) : -1;
}

/** What is wrong with the fields behind a body; null: nothing. */
export function faultInTrailers(names: readonly string[]): string | null {
  for (const name of names) {
    if (name.charCodeAt(0) === 0x3a) return 'a pseudo-field stands behind the body';
    if (isConnectionField(name)) return 'a field of one connection stands behind the body';
  }
  return null;
}
