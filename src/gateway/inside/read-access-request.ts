// What an agent asks a person for, read from the body of `POST /requests`: JSON or a form. Everything in it is an agent's: it
// must be small, plain and of one reading, because a person decides by what is shown. Never resolves or fetches anything.
import { replaceUnseen } from '../../kit/text/unseen.ts';
import type { AccessRequest } from '../../path/approvals.ts';
import { parseHostName } from '../../policy/host-pattern.ts';

export const maxAccessRequestBytes = 8 * 1024;
const maxReason = 500;
const maxPath = 1024;
const known: readonly string[] = ['url', 'host', 'method', 'reason'];

/** `problem`: in words, for the agent. */
export type AccessRequestReading = { readonly accessRequest: AccessRequest } | { readonly problem: string };

type Fields = ReadonlyMap<string, string>;
type RequestedPlace = Pick<AccessRequest, 'scheme' | 'host' | 'port' | 'path'>;

export function readAccessRequest(body: Buffer): AccessRequestReading {
  const fields = readFields(body);
  if ('problem' in fields) return fields;
  const strange = [...fields.keys()].filter((key) => !known.includes(key));
  if (strange.length > 0) {
    return { problem: `there is no field ${strange.slice(0, 5).map(quoted).join(', ')} in a request` };
  }
  const place = readPlace(fields);
  if ('problem' in place) return place;
  const method = (fields.get('method') ?? 'GET').toUpperCase();
  if (!/^[A-Z][A-Z-]{0,31}$/.test(method) || method === 'CONNECT') {
    return { problem: '"method" must be a method of HTTP, such as GET or POST' };
  }
  const reason = readReason(fields.get('reason'));
  if ('problem' in reason) return reason;
  return { accessRequest: { method, ...place, reason: reason.text } };
}

/** By what it looks like: curl -d says that it is a form whatever it sends. */
function readFields(body: Buffer): Fields | { readonly problem: string } {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body).trim();
  } catch {
    return { problem: 'the body is not text in UTF-8' };
  }
  if (text === '') return { problem: 'the body is empty' };
  return /^[{["]/.test(text) ? readJson(text) : readForm(text);
}

function readJson(text: string): Fields | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'the body begins like JSON but is not valid JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'the body must be one JSON object' };
  }
  const fields = new Map<string, string>();
  for (const [key, one] of Object.entries(value)) {
    if (typeof one !== 'string') return { problem: `${quoted(key)} must be a text` };
    fields.set(key, one);
  }
  return fields;
}

function readForm(text: string): Fields | { readonly problem: string } {
  const fields = new Map<string, string>();
  for (const [key, one] of new URLSearchParams(text)) {
    if (fields.has(key)) return { problem: `${quoted(key)} is there twice` };
    fields.set(key, one);
  }
  return fields;
}

function readPlace(fields: Fields): RequestedPlace | { readonly problem: string } {
  const url = fields.get('url');
  const host = fields.get('host');
  if (url !== undefined && host !== undefined) return { problem: 'give "url" or "host", not both' };
  if (url !== undefined) return readUrl(url);
  if (host === undefined) return { problem: 'neither "url" nor "host" is given' };
  if (host.includes('/')) return { problem: '"host" is the name of a host alone: for an address use "url"' };
  const name = parseHostName(host);
  if ('problem' in name) return { problem: `"host": ${name.problem}` };
  return { scheme: 'https', host: name.value, port: 443, path: '/' };
}

/** Read by hand: a URL parser would make a name of what is none, and decode where nothing must be decoded. */
function readUrl(text: string): RequestedPlace | { readonly problem: string } {
  const parts = /^(https?):\/\/([^/?#\\]*)([^?#]*)/i.exec(text);
  if (parts === null) return { problem: '"url" must begin with https:// or http://' };
  const authority = parts[2]!;
  if (authority.includes('@')) return { problem: '"url" carries a user name: leave it out' };
  const scheme = parts[1]!.toLowerCase() === 'https' ? 'https' : 'http';
  const written = /:(\d{1,5})$/.exec(authority);
  const port = written === null ? (scheme === 'https' ? 443 : 80) : Number(written[1]);
  if (port < 1 || port > 65535) return { problem: '"url" has a port that does not exist' };
  const name = parseHostName(written === null ? authority : authority.slice(0, written.index));
  if ('problem' in name) return { problem: `"url": ${name.problem}` };
  const path = readPath(parts[3]!);
  if (typeof path !== 'string') return path;
  return { scheme, host: name.value, port, path };
}

/** Decoded once, as every decision reads it. What has a second reading is not asked for: a person sees only one. */
function readPath(raw: string): string | { readonly problem: string } {
  let path: string;
  try {
    path = decodeURIComponent(raw === '' ? '/' : raw);
  } catch {
    return { problem: 'the path of "url" is not validly percent-encoded' };
  }
  if (path.length > maxPath) return { problem: `the path of "url" is longer than ${maxPath} characters` };
  if (path.includes('*')) return { problem: 'the path of "url" has a * in it: name one path, a person can allow more' };
  const hasTwoReadings =
    /%2f|%5c|%3f|%23/i.test(raw) ||
    /[\p{C}\\]/u.test(path) ||
    path.split('/').some((part) => part === '.' || part === '..');
  if (hasTwoReadings || path.includes('//')) {
    return { problem: 'the path of "url" can be read in two ways: write it without .. // \\ %2F and %3F' };
  }
  return path;
}

function readReason(text: string | undefined): { readonly text: string } | { readonly problem: string } {
  // One line of plain text: it is shown to a person, who decides by it.
  const reason = replaceUnseen(text ?? '', ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  if (reason === '') return { problem: '"reason" is missing: a person needs it to decide' };
  if (reason.length > maxReason) return { problem: `the "reason" is longer than ${maxReason} characters` };
  return { text: reason };
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
